package org.horovod4j.frame;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.time.Duration;

/// One message in a stream: its length, then its bytes.
public final class Frame {
    private static final int HEARTBEATS_PER_TIMEOUT = 10;
    private static final Duration MAX_HEARTBEAT_PERIOD = Duration.ofMillis(500);

    private Frame() {}

    /// How often an idle end sends a heartbeat. Short even if the timeout is long: an outage counts
    /// as silence from the last heartbeat before it.
    public static Duration heartbeatPeriod(Duration heartbeatTimeout) {
        Duration part = heartbeatTimeout.dividedBy(HEARTBEATS_PER_TIMEOUT);
        return part.compareTo(MAX_HEARTBEAT_PERIOD) < 0 ? part : MAX_HEARTBEAT_PERIOD;
    }

    /// Reads the next frame.
    ///
    /// @param limit the most bytes that are accepted
    /// @throws MalformedMessageException when the length is negative or above the limit
    /// @throws EOFException when the other end closed
    public static byte[] read(DataInputStream in, int limit) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > limit) {
            throw new MalformedMessageException(
                    "a frame of %d bytes, at most %d are allowed".formatted(length, limit));
        }
        // Grows as the bytes arrive, so a length alone allocates no memory.
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
