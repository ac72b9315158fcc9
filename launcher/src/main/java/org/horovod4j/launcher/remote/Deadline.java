package org.horovod4j.launcher.remote;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/// Limits the time to set up a host, and records the stage that took too long.
final class Deadline {
    private enum Outcome {
        MET,
        MISSED,
        CANCELLED
    }

    private final Duration limit;
    private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
    private volatile String stage = "connecting to it";

    /// @param onEnd called once if [#meet] is not called in time, or on [#cancel]; must make
    ///     blocking calls return
    Deadline(Duration limit, Runnable onEnd) {
        this.limit = limit;
        var _ =
                outcome.completeOnTimeout(Outcome.MISSED, limit.toNanos(), TimeUnit.NANOSECONDS)
                        .thenAccept(
                                how -> {
                                    if (how != Outcome.MET) {
                                        onEnd.run();
                                    }
                                });
    }

    void setStage(String next) {
        stage = next;
    }

    boolean isOver() {
        return outcome.isDone();
    }

    /// Waits for `pause`, and returns whether the deadline is over.
    boolean awaitOver(Duration pause) {
        try {
            var _ = outcome.get(pause.toNanos(), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        } catch (ExecutionException e) {
            throw new IllegalStateException("a deadline does not fail", e);
        }
    }

    void meet() {
        outcome.complete(Outcome.MET);
    }

    /// Gives up. Has no effect on a host that is ready: its job closes it.
    void cancel() {
        outcome.complete(Outcome.CANCELLED);
    }

    /// The stage at which the time was up, if it was.
    Optional<String> missed() {
        return outcome.getNow(Outcome.MET) == Outcome.MISSED
                ? Optional.of(
                        "not ready after %d s, while %s. Raise --start-timeout if it is slow."
                                .formatted(limit.toSeconds(), stage))
                : Optional.empty();
    }
}
