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
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;

/// What is known about the ranks that `mpirun` has started: from their start lines and output, from
/// the rendezvous server, and from the messages of `mpirun`.
///
/// Thread-safe: each output stream and each rank's rendezvous connection has its own thread.
final class MpiRanks implements MembershipListener {
    private record ReportedFailure(int rank, String reason) {}

    private final int size;
    private final Map<Integer, String> places = new TreeMap<>();
    private final Map<Integer, LastLines> lastErrors = new TreeMap<>();
    private final Set<Integer> started = new HashSet<>();
    private final MpiAbortParser abortParser = new MpiAbortParser();

    /// Started ranks whose start line has no tag.
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

    /// Processes a line of `mpirun`'s output.
    ///
    /// @param isEnding whether the user has ended the job: what `mpirun` itself says about that is
    ///     not printed
    /// @return whether to print it
    synchronized boolean onLine(StandardStream standardStream, byte[] bytes, boolean isEnding) {
        MpiLine line = MpiLine.parse(new String(bytes, UTF_8).stripTrailing());
        Optional<String> place = line.place();
        Integer rank = line.rank();
        if (rank != null) {
            started.add(rank);
            place.ifPresent(it -> places.put(rank, it));
            if (place.isEmpty() && standardStream == StandardStream.STDERR) {
                lastErrors.computeIfAbsent(rank, _ -> new LastLines()).add(line.text());
            }
        } else if (place.isPresent()) {
            startedUntagged++;
        } else if (abortParser.read(line.text())) {
            markFailed();
        }
        boolean isOfRank = rank != null || startedUntagged > 0;
        return place.isEmpty() && (isOfRank || !isEnding);
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

    /// `mpirun` does not report a rank that ended with code 0, so the others' report is all there is.
    @Override
    public synchronized void missed(int rank, String reason) {
        failed(rank, reason + ", while other ranks still needed it");
    }

    private void markFailed() {
        if (!failed) {
            failed = true;
            failedNanos = System.nanoTime();
        }
    }

    /// The number of ranks that have not started.
    synchronized int missing() {
        return Math.max(0, size - Math.max(started.size(), startedUntagged));
    }

    /// The time since a rank has failed; null if no failure is known.
    synchronized @Nullable Duration sinceFailure() {
        return failed ? Duration.ofNanos(System.nanoTime() - failedNanos) : null;
    }

    /// The report about a failed job. Call it after all output was read.
    ///
    /// @param code the exit code of `mpirun`
    /// @param others how long it took to end the other ranks; null if unknown
    synchronized String report(int code, @Nullable Duration others) {
        if (missing() == size) {
            return "the job failed: mpirun ended before any rank had started (%s). Its messages are above."
                    .formatted(new ExitStatus(code));
        }
        OptionalInt first = firstFailedRank();
        if (first.isEmpty()) {
            return """
                   the job failed, and mpirun ended (%s).
                     It does not say which rank was the first to fail; the output of the ranks is above."""
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

    /// The rank that the rendezvous server reported first; otherwise the one that `mpirun` names.
    /// `mpirun` may name a rank that failed only because another one had failed.
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
        String place = places.get(rank);
        return "rank " + rank + (place == null ? "" : " " + place);
    }
}
