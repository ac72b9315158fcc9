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
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

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
    private final CountDownLatch heartbeatsStopped = new CountDownLatch(1);
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

    /// Sends heartbeats from now on, and watches those of the other end. Call this when the other
    /// end has sent its first message: until then it may take longer.
    ///
    /// Uses two threads, because the one that writes may block in a dead connection.
    ///
    /// @param timeout after which a rank is declared lost; a silent host is declared lost two
    ///     heartbeats earlier, so that it is reported as the cause and not one of its ranks
    /// @param onSilence called once, when the other end was silent for too long
    void startHeartbeats(Duration timeout, Runnable onSilence) {
        long period = Frame.heartbeatPeriod(timeout).toNanos();
        long limit = timeout.toNanos() - 2 * period;
        Thread.ofPlatform().daemon().name("hvd-heartbeat").start(() -> sendHeartbeats(period));
        Thread.ofPlatform()
                .daemon()
                .name("hvd-liveness")
                .start(() -> awaitSilence(limit, onSilence));
    }

    private void sendHeartbeats(long periodNanos) {
        try {
            while (!stopsWithin(periodNanos)) {
                send(new AgentMessage.Heartbeat());
            }
        } catch (IOException e) {
            // The receiving thread sees the failure too, and handles it.
            System.getLogger(AgentConnection.class.getName())
                    .log(Level.DEBUG, "Sending a heartbeat failed", e);
        }
    }

    /// A long message on a slow network counts as alive.
    private void awaitSilence(long timeoutNanos, Runnable onSilence) {
        long left;
        while ((left = timeoutNanos - (System.nanoTime() - lastReceivedNanos)) > 0) {
            if (stopsWithin(left)) {
                return;
            }
        }
        onSilence.run();
    }

    private boolean stopsWithin(long nanos) {
        try {
            return heartbeatsStopped.await(Math.max(1, nanos), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        }
    }

    void stopHeartbeats() {
        heartbeatsStopped.countDown();
    }

    /// Ends the output, which the other end sees as the end of the stream.
    @Override
    public void close() throws IOException {
        stopHeartbeats();
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
