package org.horovod4j.launcher.function;

import org.horovod4j.frame.Frame;
import org.horovod4j.trust.Line;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.time.Duration;

/// The bytes of one request or answer, after their length.
final class Frames {
    /// The most that a function and what it captured, or a result, may take.
    static final int LIMIT = 256 << 20;

    /// How long the other end may pause inside a frame, or before it.
    private static final Duration PAUSE = Duration.ofSeconds(60);

    private final DataInputStream in;
    private final DataOutputStream out;

    Frames(Line line) throws IOException {
        line.channel().socket().setSoTimeout((int) PAUSE.toMillis());
        this.in = new DataInputStream(line.input());
        this.out = new DataOutputStream(line.output());
    }

    /// @throws EOFException when the other end closed
    byte[] read() throws IOException {
        return Frame.read(in, LIMIT);
    }

    void write(byte[] bytes) throws IOException {
        Frame.write(bytes, out);
        out.flush();
    }
}
