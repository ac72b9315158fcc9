package org.horovod4j.runtime.stall;

import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.jspecify.annotations.Nullable;

import java.util.List;

/// The state of a rank, sent when another rank requests it.
///
/// @param nanoTime its clock, for ranks on other hosts to compute the difference of theirs
/// @param sets the process sets that it is in
/// @param processSetChanges its progress in changes of process sets
/// @param threads of its program; empty if they were not captured
public record RankReport(
        long nanoTime,
        List<ProcessSetReport> sets,
        ProcessSetChanges processSetChanges,
        List<ProgramThread> threads) {
    /// The number of operations in a report; a report with more in flight gives their count.
    private static final int MAX_PENDING = 1_000;

    public RankReport {
        sets = List.copyOf(sets);
        threads = List.copyOf(threads);
    }

    /// A report without threads.
    public RankReport(
            long nanoTime, List<ProcessSetReport> sets, ProcessSetChanges processSetChanges) {
        this(nanoTime, sets, processSetChanges, List.of());
    }

    /// The same report with the threads of the program.
    public RankReport with(List<ProgramThread> captured) {
        return new RankReport(nanoTime, sets, processSetChanges, captured);
    }

    /// One process set.
    ///
    /// @param id its number
    /// @param ranks its ranks, as job ranks
    /// @param activity what the rank is doing, as text
    /// @param statistics of plans and waits, as text
    /// @param progress its completed batches
    /// @param join the pending join of this rank, or null
    /// @param pending the operations in flight, oldest first, up to the limit
    /// @param omitted the number of operations beyond the limit
    public record ProcessSetReport(
            int id,
            List<Integer> ranks,
            String activity,
            String statistics,
            Progress progress,
            @Nullable Pending join,
            List<Pending> pending,
            int omitted) {
        public ProcessSetReport {
            ranks = List.copyOf(ranks);
            pending = List.copyOf(pending);
        }

        /// Creates a report with as many operations as the limit allows.
        public static ProcessSetReport of(
                int id,
                List<Integer> ranks,
                String doing,
                String statistics,
                Progress progress,
                @Nullable Pending join,
                List<Pending> all) {
            int most = Math.min(all.size(), MAX_PENDING);
            return new ProcessSetReport(
                    id,
                    ranks,
                    doing,
                    statistics,
                    progress,
                    join,
                    all.subList(0, most),
                    all.size() - most);
        }

        boolean joined() {
            return join != null;
        }

        boolean has(String name) {
            return pending.stream().anyMatch(each -> each.name.equals(name));
        }
    }

    /// The progress of a process set on a rank.
    ///
    /// @param completed the number of completed batches
    /// @param idleMillis since the last of them completed, or since the start
    public record Progress(long completed, long idleMillis) {}

    /// The progress of a rank in changes of process sets, which all ranks make together.
    ///
    /// @param started the number of changes it has begun
    /// @param pending the current change, or null
    public record ProcessSetChanges(long started, @Nullable Pending pending) {}

    /// Something that waits for other ranks: an operation, or a call that all ranks make together.
    ///
    /// @param name of its tensor
    /// @param operation as text
    /// @param millis since it was submitted
    public record Pending(String name, String operation, long millis) {
        private static final String JOIN = "join";

        /// Whether a wait for all ranks is a join, and not the end of a failed step.
        boolean isJoin() {
            return name.equals(JOIN);
        }

        @Override
        public String toString() {
            return "%s (%.1f s)".formatted(operation, millis / 1000.0);
        }
    }

    public byte[] encode() {
        return new ObjectCodec().encode(this);
    }

    /// Decodes a report. Null if the rank is starting or leaving, and the bytes are not a report.
    static @Nullable RankReport decode(byte @Nullable [] bytes) {
        if (bytes == null) {
            return null;
        }
        try {
            return new ObjectCodec(RankReport.class.getClassLoader()).decode(bytes)
                            instanceof RankReport report
                    ? report
                    : null;
        } catch (CodecException e) {
            return null; // shown as a rank that gave no answer
        }
    }

    /// The report of a process set, or null if the rank is not in it.
    @Nullable ProcessSetReport set(int id) {
        return sets.stream().filter(each -> each.id == id).findFirst().orElse(null);
    }

    /// Milliseconds since the last batch completed in any process set.
    long idleMillis() {
        return sets.stream().mapToLong(set -> set.progress.idleMillis).min().orElse(Long.MAX_VALUE);
    }
}
