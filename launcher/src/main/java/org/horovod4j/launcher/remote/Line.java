package org.horovod4j.launcher.remote;

import org.horovod4j.frame.Frame;
import org.horovod4j.frame.MalformedMessageException;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/// One end of the connection between launcher and agent: messages each way, each after its length.
///
/// Any thread may [#send], which blocks while the other end does not read; one thread receives. The
/// two ends cannot block each other: the launcher's receiving thread never sends, so what an agent
/// sends is always read, so an agent always comes round to reading.
final class Line implements AutoCloseable {
    /// More than the environment of any process.
    private static final int LIMIT = 1 << 26;

    private final DataInputStream in;
    private final DataOutputStream out;
    private final Object sending = new Object();
    private volatile long heardNanos = System.nanoTime();

    /// @param out is told to flush after each message
    Line(InputStream in, OutputStream out) {
        this.in = new DataInputStream(new Noted(in));
        this.out = new DataOutputStream(out);
    }

    void send(Message message) throws IOException {
        byte[] bytes = MessageCodec.encode(message);
        synchronized (sending) {
            Frame.write(bytes, out);
            out.flush();
        }
    }

    /// @throws EOFException when the other end has closed
    /// @throws MalformedMessageException when the bytes are not a message
    Message receive() throws IOException {
        return MessageCodec.decode(Frame.read(in, LIMIT));
    }

    /// How long nothing has come. A slow network that carries one long message counts as alive.
    long silenceNanos() {
        return System.nanoTime() - heardNanos;
    }

    /// Tells the other end that nothing more comes.
    @Override
    public void close() throws IOException {
        out.close();
    }

    /// Notes when bytes come.
    private final class Noted extends FilterInputStream {
        Noted(InputStream in) {
            super(in);
        }

        @Override
        public int read() throws IOException {
            int value = super.read();
            heardNanos = System.nanoTime();
            return value;
        }

        @Override
        public int read(byte[] bytes, int from, int length) throws IOException {
            int count = super.read(bytes, from, length);
            heardNanos = System.nanoTime();
            return count;
        }
    }
}
