package org.horovod4j.launcher.remote;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/// Sends heartbeats over an [AgentConnection], and watches those of the other end.
///
/// Uses two threads, because the one that writes may block in a dead connection.
final class Heartbeats implements AutoCloseable {
    private static final int BEATS_PER_TIMEOUT = 6;

    private final AgentConnection connection;
    private final Duration timeout;
    private final Runnable onTimeout;
    private final CountDownLatch closed = new CountDownLatch(1);

    private Heartbeats(AgentConnection agentConnection, Duration timeout, Runnable onTimeout) {
        this.connection = agentConnection;
        this.timeout = timeout;
        this.onTimeout = onTimeout;
    }

    /// @param timeout after which a rank is declared lost; a silent host is declared lost a little
    ///     earlier, so that it is reported as the cause and not one of its ranks
    /// @param onSilence called once, when the other end was silent for too long
    static Heartbeats of(AgentConnection agentConnection, Duration timeout, Runnable onSilence) {
        return new Heartbeats(agentConnection, timeout.multipliedBy(3).dividedBy(4), onSilence);
    }

    /// Call this when the other end has sent its first message: until then it may take longer.
    void start() {
        Thread.ofPlatform().daemon().name("hvd-heartbeat").start(this::sendHeartbeats);
        Thread.ofPlatform().daemon().name("hvd-liveness").start(this::checkTimeout);
    }

    private void sendHeartbeats() {
        try {
            while (!closesWithin(timeout.toNanos() / BEATS_PER_TIMEOUT)) {
                connection.send(new AgentMessage.Heartbeat());
            }
        } catch (IOException e) {
            // The receiving thread sees the failure too, and handles it.
            System.getLogger(Heartbeats.class.getName())
                    .log(Level.DEBUG, "Sending a heartbeat failed", e);
        }
    }

    private void checkTimeout() {
        long left;
        while ((left = timeout.toNanos() - connection.idleNanos()) > 0) {
            if (closesWithin(left)) {
                return;
            }
        }
        onTimeout.run();
    }

    private boolean closesWithin(long nanos) {
        try {
            return closed.await(Math.max(1, nanos), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        }
    }

    @Override
    public void close() {
        closed.countDown();
    }
}
