package org.horovod4j.runtime;

import org.horovod4j.HorovodException;
import org.horovod4j.MismatchException;
import org.horovod4j.ShutDownException;
import org.horovod4j.runtime.stall.RankReport.Pending;
import org.horovod4j.runtime.stall.RankReport.ProcessSetChanges;
import org.horovod4j.spi.ControlPlane;
import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/// How all ranks change their process sets together, members or not, over the control plane.
///
/// They first compare what they want to change. Then they take the steps of the change. A step that
/// fails on one rank fails on all of them, so no rank waits for a set that another rank lacks.
final class ProcessSetAgreement {
    private final ControlPlane control;

    /// Held during a change, which takes as long as the slowest rank.
    private final Object changing = new Object();

    private volatile Change change = new Change(0, null, 0);
    private volatile @Nullable HorovodException stopped;

    ProcessSetAgreement(ControlPlane control) {
        this.control = control;
    }

    /// The last change that this rank has started.
    ///
    /// @param number counts changes from 1 on, the same on all ranks
    /// @param description for reports; null after the change
    private record Change(long number, @Nullable String description, long sinceNanos) {
        Change finished() {
            return new Change(number, null, sinceNanos);
        }

        ProcessSetChanges report() {
            long millis = (System.nanoTime() - sinceNanos) / 1_000_000;
            return new ProcessSetChanges(
                    number, description == null ? null : new Pending("", description, millis));
        }
    }

    /// What one rank's part of a step gave: a text, or a failure.
    ///
    /// @param failed whether it failed; `text` then says why
    /// @param failure on the rank where it failed
    private record StepResult(boolean failed, String text, @Nullable Throwable failure) {
        private static final int MAX_TEXT = 10_000;

        static StepResult of(Supplier<String> part) {
            try {
                return new StepResult(false, part.get(), null);
            } catch (RuntimeException | Error e) {
                String message = e.getMessage();
                String text = message == null ? e.toString() : message;
                return new StepResult(
                        true, text.substring(0, Math.min(text.length(), MAX_TEXT)), e);
            }
        }

        byte[] encode() {
            return ((failed ? "-" : "+") + text).getBytes(StandardCharsets.UTF_8);
        }

        static StepResult decode(byte[] bytes) {
            String all = new String(bytes, StandardCharsets.UTF_8);
            return new StepResult(all.startsWith("-"), all.substring(1), null);
        }
    }

    /// Checks that all ranks request the same change, then makes it.
    ///
    /// @param request describes the change: the same text on all ranks, or they disagree. Called
    ///     when no other change is under way
    /// @throws MismatchException on every rank, when the ranks request different changes
    <T> T change(Supplier<String> request, Supplier<T> body) {
        synchronized (changing) {
            try {
                compare(request.get());
                return body.get();
            } finally {
                change = change.finished();
            }
        }
    }

    /// Checks that all ranks request the same change.
    private void compare(String request) {
        checkNotStopped();
        change = new Change(change.number + 1, request, System.nanoTime());
        List<String> requested =
                allgather(topic("change"), request.getBytes(StandardCharsets.UTF_8)).stream()
                        .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
                        .toList();
        if (requested.stream().distinct().count() > 1) {
            String table =
                    IntStream.range(0, requested.size())
                            .mapToObj(rank -> "  rank %d: %s".formatted(rank, requested.get(rank)))
                            .collect(Collectors.joining("\n"));
            throw new MismatchException(
                    """
                    changing process sets: the ranks disagree
                    %s
                    Add and remove the same process sets in the same order on every rank."""
                            .formatted(table));
        }
    }

    /// Does this rank's part of a step that adds a set, then waits for all ranks.
    ///
    /// @param topic the same on all ranks, and used once
    /// @return the results of all ranks
    /// @throws HorovodException on every rank, if the step fails on one
    List<String> step(RankSet set, String topic, Supplier<String> part) {
        StepResult mine = StepResult.of(part);
        Throwable failure = mine.failure;
        List<StepResult> all;
        try {
            all = allgather(topic, mine.encode()).stream().map(StepResult::decode).toList();
        } catch (HorovodException lost) { // the end of a member may be why this rank failed
            if (failure != null) {
                lost.addSuppressed(failure);
            }
            throw lost;
        }
        if (failure != null) {
            throw rethrown(failure);
        }
        for (int rank = 0; rank < all.size(); rank++) {
            if (all.get(rank).failed) {
                throw new HorovodException(
                        """
                        adding process set %s: it failed on rank %d
                        %s
                        No process set was added. Those added before can still be used."""
                                .formatted(set.ranks(), rank, all.get(rank).text));
            }
        }
        return all.stream().map(StepResult::text).toList();
    }

    private static RuntimeException rethrown(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        return (RuntimeException) failure;
    }

    /// Waits until all ranks have come to this point of the change.
    void awaitAll(String point) {
        List<byte[]> _ = allgather(topic(point), new byte[0]);
    }

    /// Ends a wait for other ranks, now and later, with this reason. The caller also stops the
    /// control plane.
    void stop(HorovodException reason) {
        stopped = reason;
    }

    /// Throws the reason of [#stop] after that call.
    void checkNotStopped() {
        HorovodException reason = stopped;
        if (reason != null) {
            throw reason.atCaller();
        }
    }

    /// The last change, for reports.
    ProcessSetChanges report() {
        return change.report();
    }

    /// Waits for all ranks. [#stop] ends the wait with its reason.
    private List<byte[]> allgather(String topic, byte[] mine) {
        try {
            return control.allgather(topic, mine);
        } catch (ShutDownException e) {
            HorovodException reason = stopped;
            throw reason == null ? e : reason.atCaller();
        }
    }

    private String topic(String what) {
        return "process sets %d: %s".formatted(change.number, what);
    }
}
