package org.horovod4j.launcher.remote;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/// Shows the other end of a [AgentConnection] that this one is alive, and watches whether the other is.
///
/// On two threads, for the one that writes may be stuck in a connection that is dead.
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

    /// @param timeout after which a rank counts as lost; here a silent host is lost a little before
    ///     that, so that it and not one of its ranks is told as the cause
    /// @param onSilence called once, when the other end has been silent for too long
    static Heartbeats of(AgentConnection agentConnection, Duration timeout, Runnable onSilence) {
        return new Heartbeats(agentConnection, timeout.multipliedBy(3).dividedBy(4), onSilence);
    }

    /// To be called when the other end has begun to speak: to get that far may take it longer.
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
            // Whoever receives hears of it too, and knows what to do.
            System.getLogger(Heartbeats.class.getName())
                    .log(Level.DEBUG, "The other end of a line is gone", e);
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
