package org.horovod4j.launcher.remote;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/// Limits the time to set up a host, and records the stage that took too long.
final class Deadline {
    private enum State {
        OPEN,
        MET,
        MISSED,
        CANCELLED
    }

    private final Duration limit;
    private final Runnable onEnd;
    private State state = State.OPEN;
    private String stage = "connecting to it";

    private Deadline(Duration limit, Runnable onEnd) {
        this.limit = limit;
        this.onEnd = onEnd;
    }

    /// @param end called once if [#meet] is not called in time, or on [#cancel]; must make blocking
    ///     calls return
    static Deadline start(Duration limit, Runnable end) {
        Deadline deadline = new Deadline(limit, end);
        CompletableFuture.delayedExecutor(limit.toNanos(), TimeUnit.NANOSECONDS)
                .execute(() -> deadline.finish(State.MISSED));
        return deadline;
    }

    synchronized void setStage(String next) {
        stage = next;
    }

    synchronized boolean isOver() {
        return state != State.OPEN;
    }

    /// Waits for `pause`, and returns whether the deadline is over.
    synchronized boolean awaitOver(Duration pause) {
        long end = System.nanoTime() + pause.toNanos();
        try {
            for (long left = pause.toNanos(); left > 0 && !isOver(); ) {
                TimeUnit.NANOSECONDS.timedWait(this, left);
                left = end - System.nanoTime();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        }
        return isOver();
    }

    synchronized void meet() {
        if (state == State.OPEN) {
            state = State.MET;
        }
    }

    /// Gives up. Has no effect on a host that is ready: its job closes it.
    void cancel() {
        finish(State.CANCELLED);
    }

    /// The stage at which the time was up, if it was.
    synchronized Optional<String> missed() {
        return state == State.MISSED
                ? Optional.of(
                        "not ready after %d s, while %s. Raise --start-timeout if it is slow."
                                .formatted(limit.toSeconds(), stage))
                : Optional.empty();
    }

    private synchronized void finish(State next) {
        if (state == State.OPEN) {
            state = next;
            notifyAll();
            onEnd.run();
        }
    }
}
