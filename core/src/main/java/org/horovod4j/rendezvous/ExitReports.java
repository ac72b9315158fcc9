package org.horovod4j.rendezvous;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/// How worker processes ended, as far as the launcher saw it.
///
/// A dying process closes its connection some milliseconds before its parent learns of the exit
/// code, so the news of a loss waits that long for a better reason.
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

    /// How the process of `rank` ended, or null when nobody reported that.
    @Nullable String exitOf(int rank) {
        CompletableFuture<String> report = reports.get(rank);
        return report == null ? null : report.getNow(null);
    }

    /// The ranks whose end was reported, and those it was asked for.
    Set<Integer> reported() {
        return reports.keySet();
    }

    /// Tells `listener` how the process of `rank` ended, or `otherwise` when nobody reports it in
    /// time.
    void await(int rank, String otherwise, Consumer<String> listener) {
        var _ =
                reportOf(rank)
                        .copy() // as the time-out must not be taken for a report
                        .completeOnTimeout(otherwise, grace.toMillis(), TimeUnit.MILLISECONDS)
                        .thenAccept(listener);
    }

    private CompletableFuture<String> reportOf(int rank) {
        return reports.computeIfAbsent(rank, any -> new CompletableFuture<>());
    }
}
