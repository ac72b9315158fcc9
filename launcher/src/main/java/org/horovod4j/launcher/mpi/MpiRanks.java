package org.horovod4j.launcher.mpi;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.output.FailureReport;
import org.horovod4j.launcher.output.LastLines;
import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.horovod4j.launcher.process.ExitStatus;
import org.horovod4j.rendezvous.MembershipListener;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;

/// What is known of the ranks that `mpirun` has started: what their heralds and their lines say,
/// what they told the rendezvous, and what `mpirun` says of them.
///
/// Safe for use by several threads: each stream has one, and so has each rank at the rendezvous.
final class MpiRanks implements MembershipListener {
    private record ReportedFailure(int rank, String reason) {}

    private final int size;
    private final Map<Integer, RankStartLine> startLines = new TreeMap<>();
    private final Map<Integer, LastLines> lastErrors = new TreeMap<>();
    private final Set<Integer> started = new HashSet<>();
    private final MpiAbortParser abortParser = new MpiAbortParser();

    /// Of which no mark says who they are.
    private int startedUntagged;

    private @Nullable ReportedFailure reportedFailure;
    private boolean failed;
    private long failedNanos;

    MpiRanks(int size) {
        this.size = size;
    }

    int size() {
        return size;
    }

    /// Takes a line of `mpirun`'s output.
    ///
    /// @return whether it is for the user too
    synchronized boolean onLine(StandardStream standardStream, byte[] bytes) {
        String line = new String(bytes, UTF_8).stripTrailing();
        TaggedLine taggedLine = TaggedLine.parse(line).orElse(null);
        RankStartLine rankStartLine =
                RankStartLine.parse(taggedLine == null ? line : taggedLine.text()).orElse(null);
        if (taggedLine != null) {
            onLine(standardStream, taggedLine, rankStartLine);
        } else if (rankStartLine != null) {
            startedUntagged++;
        } else if (abortParser.read(line)) {
            markFailed();
        }
        return rankStartLine == null;
    }

    private void onLine(
            StandardStream standardStream,
            TaggedLine taggedLine,
            @Nullable RankStartLine rankStartLine) {
        started.add(taggedLine.rank());
        if (rankStartLine != null) {
            startLines.put(taggedLine.rank(), rankStartLine);
        } else if (standardStream == StandardStream.STDERR) {
            lastErrors
                    .computeIfAbsent(taggedLine.rank(), _ -> new LastLines())
                    .add(taggedLine.text());
        }
    }

    @Override
    public synchronized void joined(int rank) {
        started.add(rank);
    }

    @Override
    public synchronized void failed(int rank, String reason) {
        if (reportedFailure == null) {
            reportedFailure = new ReportedFailure(rank, reason);
            markFailed();
        }
    }

    private void markFailed() {
        if (!failed) {
            failed = true;
            failedNanos = System.nanoTime();
        }
    }

    /// How many ranks have shown no sign of life.
    synchronized int missing() {
        return Math.max(0, size - Math.max(started.size(), startedUntagged));
    }

    /// The time since a rank has failed; null when nobody has seen it.
    synchronized @Nullable Duration sinceFailure() {
        return failed ? Duration.ofNanos(System.nanoTime() - failedNanos) : null;
    }

    /// What there is to say of a job that failed. To be called when all output has come.
    ///
    /// @param code with which `mpirun` ended
    /// @param others how long it took to end the other ranks; null when nobody knows
    synchronized String report(int code, @Nullable Duration others) {
        if (missing() == size) {
            return "the job failed: mpirun ended before any rank had started (%s). Its own lines are above."
                    .formatted(new ExitStatus(code));
        }
        OptionalInt first = firstFailedRank();
        if (first.isEmpty()) {
            return """
                   the job failed, and mpirun ended (%s).
                     It does not say which rank was the first to fail; the ranks' own lines are above."""
                    .formatted(new ExitStatus(code));
        }
        int rank = first.getAsInt();
        LastLines errors = lastErrors.get(rank);
        return new FailureReport(
                        null,
                        new FailureReport.FirstFailure(
                                name(rank),
                                describeEnd(rank, code),
                                errors == null ? List.of() : errors.lines()),
                        size == 1 ? null : others)
                .toString();
    }

    /// The one that the ranks know of, or else that `mpirun` does: it may have seen one end first
    /// that could not go on without the other.
    private OptionalInt firstFailedRank() {
        if (reportedFailure != null) {
            return OptionalInt.of(reportedFailure.rank);
        }
        return size == 1 ? OptionalInt.of(0) : abortParser.rank();
    }

    private String describeEnd(int rank, int code) {
        ExitStatus exitStatus = abortParser.ending();
        OptionalInt named = abortParser.rank();
        if (exitStatus != null && named.isPresent() && named.getAsInt() == rank) {
            return exitStatus.toString();
        }
        return reportedFailure == null || size == 1
                ? new ExitStatus(code).toString()
                : reportedFailure.reason;
    }

    private String name(int rank) {
        RankStartLine rankStartLine = startLines.get(rank);
        return rankStartLine == null
                ? "rank " + rank
                : "rank %d on %s (process %d)"
                        .formatted(rank, rankStartLine.host(), rankStartLine.pid());
    }
}
