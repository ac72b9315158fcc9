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

/// One end of the connection between launcher and agent: messages in both directions, each a
/// [Frame].
///
/// Any thread may [#send], which blocks while the other end does not read. One thread receives. The
/// two ends cannot block each other: the launcher's receiving thread never sends, so what an agent
/// sends is always read, and then the agent reads again.
final class AgentConnection implements AutoCloseable {
    /// More than the environment of any process.
    private static final int MAX_MESSAGE_BYTES = 1 << 26;

    private final DataInputStream in;
    private final DataOutputStream out;
    private final Object sendLock = new Object();
    private volatile long lastReceivedNanos = System.nanoTime();

    /// @param out flushed after each message
    AgentConnection(InputStream in, OutputStream out) {
        this.in = new DataInputStream(new ActivityInputStream(in));
        this.out = new DataOutputStream(out);
    }

    void send(AgentMessage agentMessage) throws IOException {
        byte[] bytes = AgentMessageCodec.encode(agentMessage);
        synchronized (sendLock) {
            Frame.write(bytes, out);
            out.flush();
        }
    }

    /// @throws EOFException when the other end has closed
    /// @throws MalformedMessageException when the bytes are not a message
    AgentMessage receive() throws IOException {
        return AgentMessageCodec.decode(Frame.read(in, MAX_MESSAGE_BYTES));
    }

    /// How long nothing was received. A long message on a slow network counts as alive.
    long idleNanos() {
        return System.nanoTime() - lastReceivedNanos;
    }

    /// Ends the output, which the other end sees as the end of the stream.
    @Override
    public void close() throws IOException {
        out.close();
    }

    /// Records when bytes arrive.
    private final class ActivityInputStream extends FilterInputStream {
        ActivityInputStream(InputStream in) {
            super(in);
        }

        @Override
        public int read() throws IOException {
            int value = super.read();
            lastReceivedNanos = System.nanoTime();
            return value;
        }

        @Override
        public int read(byte[] bytes, int from, int length) throws IOException {
            int count = super.read(bytes, from, length);
            lastReceivedNanos = System.nanoTime();
            return count;
        }
    }
}
