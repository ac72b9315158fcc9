package org.horovod4j.launcher.function;

import org.horovod4j.frame.Frame;
import org.horovod4j.security.SecureConnection;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.time.Duration;

/// The bytes of one request or answer, after their length.
final class FunctionConnection {
    /// The most that a function and what it captured, or a result, may take.
    static final int MAX_FRAME_BYTES = 256 << 20;

    /// How long the other end may pause inside a frame, or before it.
    private static final Duration READ_TIMEOUT = Duration.ofSeconds(60);

    private final DataInputStream in;
    private final DataOutputStream out;

    FunctionConnection(SecureConnection secureConnection) throws IOException {
        secureConnection.channel().socket().setSoTimeout((int) READ_TIMEOUT.toMillis());
        this.in = new DataInputStream(secureConnection.input());
        this.out = new DataOutputStream(secureConnection.output());
    }

    /// @throws EOFException when the other end closed
    byte[] read() throws IOException {
        return Frame.read(in, MAX_FRAME_BYTES);
    }

    void write(byte[] bytes) throws IOException {
        Frame.write(bytes, out);
        out.flush();
    }
}
