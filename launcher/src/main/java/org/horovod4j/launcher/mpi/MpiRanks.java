package org.horovod4j.launcher.mpi;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.output.Console.Channel;
import org.horovod4j.launcher.output.FailureReport;
import org.horovod4j.launcher.output.LastLines;
import org.horovod4j.launcher.process.Ending;
import org.horovod4j.rendezvous.Attendance;
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
final class MpiRanks implements Attendance {
    private record Blame(int rank, String reason) {}

    private final int size;
    private final Map<Integer, Herald> heralds = new TreeMap<>();
    private final Map<Integer, LastLines> lastErrors = new TreeMap<>();
    private final Set<Integer> started = new HashSet<>();
    private final Verdict verdict = new Verdict();

    /// Of which no mark says who they are.
    private int startedUnmarked;

    private @Nullable Blame blame;
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
    synchronized boolean heard(Channel channel, byte[] bytes) {
        String line = new String(bytes, UTF_8).stripTrailing();
        Mark mark = Mark.of(line).orElse(null);
        Herald herald = Herald.of(mark == null ? line : mark.text()).orElse(null);
        if (mark != null) {
            heard(channel, mark, herald);
        } else if (herald != null) {
            startedUnmarked++;
        } else if (verdict.read(line)) {
            failing();
        }
        return herald == null;
    }

    private void heard(Channel channel, Mark mark, @Nullable Herald herald) {
        started.add(mark.rank());
        if (herald != null) {
            heralds.put(mark.rank(), herald);
        } else if (channel == Channel.STDERR) {
            lastErrors.computeIfAbsent(mark.rank(), _ -> new LastLines()).add(mark.text());
        }
    }

    @Override
    public synchronized void joined(int rank) {
        started.add(rank);
    }

    @Override
    public synchronized void failed(int rank, String reason) {
        if (blame == null) {
            blame = new Blame(rank, reason);
            failing();
        }
    }

    private void failing() {
        if (!failed) {
            failed = true;
            failedNanos = System.nanoTime();
        }
    }

    /// How many ranks have shown no sign of life.
    synchronized int missing() {
        return Math.max(0, size - Math.max(started.size(), startedUnmarked));
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
                    .formatted(new Ending(code));
        }
        OptionalInt first = first();
        if (first.isEmpty()) {
            return """
                   the job failed, and mpirun ended (%s).
                     It does not say which rank was the first to fail; the ranks' own lines are above."""
                    .formatted(new Ending(code));
        }
        int rank = first.getAsInt();
        LastLines errors = lastErrors.get(rank);
        return new FailureReport(
                        name(rank),
                        how(rank, code),
                        errors == null ? List.of() : errors.lines(),
                        size == 1 ? null : others)
                .toString();
    }

    /// The one that the ranks know of, or else that `mpirun` does: it may have seen one end first
    /// that could not go on without the other.
    private OptionalInt first() {
        if (blame != null) {
            return OptionalInt.of(blame.rank);
        }
        return size == 1 ? OptionalInt.of(0) : verdict.rank();
    }

    private String how(int rank, int code) {
        Ending ending = verdict.ending();
        OptionalInt named = verdict.rank();
        if (ending != null && named.isPresent() && named.getAsInt() == rank) {
            return ending.toString();
        }
        return blame == null || size == 1 ? new Ending(code).toString() : blame.reason;
    }

    private String name(int rank) {
        Herald herald = heralds.get(rank);
        return herald == null
                ? "rank " + rank
                : "rank %d on %s (process %d)".formatted(rank, herald.host(), herald.pid());
    }
}
