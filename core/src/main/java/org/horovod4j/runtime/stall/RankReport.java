package org.horovod4j.runtime.stall;

import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.jspecify.annotations.Nullable;

import java.util.List;

/// What a rank says of itself when another asks.
///
/// @param nanoTime its clock, by which ranks on other hosts set theirs
/// @param sets the process sets that it is in
/// @param processSetChanges how it makes and removes process sets
public record RankReport(
        long nanoTime, List<ProcessSetReport> sets, ProcessSetChanges processSetChanges) {
    /// Names that fit into an answer; a rank with more in flight says so.
    private static final int MAX_PENDING = 1_000;

    public RankReport {
        sets = List.copyOf(sets);
    }

    /// One process set.
    ///
    /// @param id its number
    /// @param ranks its ranks, of the world
    /// @param activity in words
    /// @param progress how far it has come
    /// @param join the join that this rank waits in, or null
    /// @param pending what is in flight, oldest first, as far as it fits
    /// @param omitted how many operations did not fit
    public record ProcessSetReport(
            int id,
            List<Integer> ranks,
            String activity,
            Progress progress,
            @Nullable Pending join,
            List<Pending> pending,
            int omitted) {
        public ProcessSetReport {
            ranks = List.copyOf(ranks);
            pending = List.copyOf(pending);
        }

        /// The same with as many operations as fit.
        public static ProcessSetReport of(
                int id,
                List<Integer> ranks,
                String doing,
                Progress progress,
                @Nullable Pending join,
                List<Pending> all) {
            int most = Math.min(all.size(), MAX_PENDING);
            return new ProcessSetReport(
                    id, ranks, doing, progress, join, all.subList(0, most), all.size() - most);
        }

        boolean joined() {
            return join != null;
        }

        boolean has(String name) {
            return pending.stream().anyMatch(each -> each.name.equals(name));
        }
    }

    /// How far a process set has come on a rank.
    ///
    /// @param completed how many operations are over
    /// @param idleMillis since the last of them was, or since the start
    public record Progress(long completed, long idleMillis) {}

    /// How far a rank has come with process sets, which all ranks make and remove together.
    ///
    /// @param started how many changes it has begun
    /// @param pending the last of these while it is not over, or null
    public record ProcessSetChanges(long started, @Nullable Pending pending) {}

    /// Something in flight: an operation, or a call that all ranks make together.
    ///
    /// @param name of its tensor
    /// @param operation in words
    /// @param millis since it was submitted
    public record Pending(String name, String operation, long millis) {
        @Override
        public String toString() {
            return "%s (%.1f s)".formatted(operation, millis / 1000.0);
        }
    }

    public byte[] encode() {
        return new ObjectCodec().encode(this);
    }

    /// Null when the bytes are no report: a rank that is starting or leaving.
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

    /// What it says of a process set, or null when it is not in it.
    @Nullable ProcessSetReport set(int id) {
        return sets.stream().filter(each -> each.id == id).findFirst().orElse(null);
    }

    /// Since an operation was last over in any process set.
    long idleMillis() {
        return sets.stream().mapToLong(set -> set.progress.idleMillis).min().orElse(Long.MAX_VALUE);
    }
}
