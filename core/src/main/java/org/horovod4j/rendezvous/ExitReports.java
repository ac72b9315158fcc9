package org.horovod4j.rendezvous;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/// How the processes of the ranks exited, as the launcher reported it.
///
/// A process that dies closes its connection some milliseconds before its parent learns the exit
/// code. So the announcement of a loss waits for the better reason, for a short time.
final class ExitReports {
    static final Duration GRACE = Duration.ofMillis(300);

    private final Duration grace;
    private final Map<Integer, CompletableFuture<String>> reports = new ConcurrentHashMap<>();

    ExitReports(Duration grace) {
        this.grace = grace;
    }

    void report(int rank, String how) {
        reportOf(rank).complete(how);
    }

    /// How the process of `rank` exited, or null when that was not reported.
    @Nullable String exitOf(int rank) {
        CompletableFuture<String> report = reports.get(rank);
        return report == null ? null : report.getNow(null);
    }

    /// The ranks whose exit was reported or asked for.
    Set<Integer> reported() {
        return reports.keySet();
    }

    /// Calls `listener` with how the process of `rank` exited, or with `otherwise` when no report
    /// comes in time.
    void await(int rank, String otherwise, Consumer<String> listener) {
        var _ =
                reportOf(rank)
                        .copy() // so that the timeout does not count as a report
                        .completeOnTimeout(otherwise, grace.toMillis(), TimeUnit.MILLISECONDS)
                        .thenAccept(listener);
    }

    private CompletableFuture<String> reportOf(int rank) {
        return reports.computeIfAbsent(rank, _ -> new CompletableFuture<>());
    }
}
