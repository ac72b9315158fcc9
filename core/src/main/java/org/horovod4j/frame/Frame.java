package org.horovod4j.frame;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;

/// The bytes of one message in a stream of many: a length, then so many bytes.
public final class Frame {
    private Frame() {}

    /// Waits for the next frame.
    ///
    /// @param limit the most bytes that may come
    /// @throws MalformedMessageException when another length is announced
    /// @throws EOFException when the other end closed
    public static byte[] read(DataInputStream in, int limit) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > limit) {
            throw new MalformedMessageException(
                    "a frame of %d bytes where at most %d may come".formatted(length, limit));
        }
        // Grows as the bytes come, so that a bare length costs no memory.
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new EOFException("closed after %d of %d bytes".formatted(bytes.length, length));
        }
        return bytes;
    }

    /// Writes without a flush.
    public static void write(byte[] bytes, DataOutputStream out) throws IOException {
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}
