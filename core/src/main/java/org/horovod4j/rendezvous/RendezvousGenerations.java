package org.horovod4j.rendezvous;

import org.horovod4j.text.DurationFormat;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/// The generations of a job, on the server. In a job of fixed size, a generation begins when its
/// first rank joins. In an elastic job it must be announced, and ends those before it.
final class RendezvousGenerations {
    /// In place of a size: each generation has its own.
    static final int SIZE_PER_GENERATION = 0;

    private final int size;
    private final Duration startTimeout;
    private final MembershipListener membershipListener;
    private final ExitReports jobExits = new ExitReports(ExitReports.GRACE);
    private final TreeMap<Integer, GenerationEntry> entries = new TreeMap<>();

    /// @param size of every generation, or [#SIZE_PER_GENERATION]
    RendezvousGenerations(int size, Duration startTimeout, MembershipListener membershipListener) {
        this.size = size;
        this.startTimeout = startTimeout;
        this.membershipListener = membershipListener;
    }

    /// A generation and the exits of its processes: a rank of the next generation may be another
    /// process.
    private record GenerationEntry(RendezvousGeneration generation, ExitReports exits) {
        void exited(int rank, String how) {
            exits.report(rank, how);
            generation.exited(rank);
        }

        void lost(int rank, String how) {
            exits.report(rank, how);
            generation.markUnreachable(rank, how);
        }
    }

    /// A generation, or null when it cannot be joined.
    synchronized @Nullable RendezvousGeneration get(int generation) {
        GenerationEntry known = entries.get(generation);
        if (known == null && size != SIZE_PER_GENERATION) {
            RendezvousGeneration rendezvousGeneration =
                    new RendezvousGeneration(
                            size,
                            RendezvousGeneration.JoinTimeoutPolicy.FAIL_JOB,
                            jobExits,
                            membershipListener);
            known = new GenerationEntry(withJoinTimeout(rendezvousGeneration), jobExits);
            entries.put(generation, known);
        }
        return known == null ? null : known.generation;
    }

    /// Why [#get] returned null.
    synchronized String unavailableReason(int generation) {
        return entries.isEmpty()
                ? "no generation has begun yet, so none has number " + generation
                : "generation %d is over, the job is in generation %d"
                        .formatted(generation, entries.lastKey());
    }

    /// Opens `generation` for `ranks` ranks, and ends those before it.
    synchronized void begin(int generation, int ranks) {
        if (size != SIZE_PER_GENERATION
                || (!entries.isEmpty() && generation <= entries.lastKey())) {
            throw new IllegalStateException(
                    "generation %d cannot begin after %s in a job of %s"
                            .formatted(
                                    generation,
                                    entries.isEmpty() ? "none" : entries.lastKey(),
                                    size == SIZE_PER_GENERATION
                                            ? "changing size"
                                            : "size " + size));
        }
        List.copyOf(entries.values()).forEach(old -> old.generation.supersede(generation));
        entries.clear();
        ExitReports exits = new ExitReports(ExitReports.GRACE);
        RendezvousGeneration rendezvousGeneration =
                new RendezvousGeneration(
                        ranks,
                        RendezvousGeneration.JoinTimeoutPolicy.DECLARE_LOST,
                        exits,
                        membershipListener);
        entries.put(generation, new GenerationEntry(withJoinTimeout(rendezvousGeneration), exits));
    }

    void exited(int rank, String how) {
        jobExits.report(rank, how); // for later generations too
        all().forEach(generationEntry -> generationEntry.exited(rank, how));
    }

    void lost(int rank, String how) {
        jobExits.report(rank, how);
        all().forEach(generationEntry -> generationEntry.lost(rank, how));
    }

    void exited(int generation, int rank, String how) {
        GenerationEntry generationEntry = entry(generation);
        if (generationEntry != null) {
            generationEntry.exited(rank, how);
        }
    }

    void lost(int generation, int rank, String how) {
        GenerationEntry generationEntry = entry(generation);
        if (generationEntry != null) {
            generationEntry.lost(rank, how);
        }
    }

    /// See [RendezvousGeneration#delayLosses].
    void delayLosses(Duration delay) {
        all().forEach(generationEntry -> generationEntry.generation.delayLosses(delay));
    }

    /// Whether a failure was announced in the newest generation.
    synchronized boolean hasFailed() {
        return !entries.isEmpty() && entries.lastEntry().getValue().generation.hasFailed();
    }

    private synchronized Collection<GenerationEntry> all() {
        return List.copyOf(entries.values());
    }

    private synchronized @Nullable GenerationEntry entry(int generation) {
        return entries.get(generation);
    }

    /// Limits the time until all ranks have joined to the start timeout.
    private RendezvousGeneration withJoinTimeout(RendezvousGeneration rendezvousGeneration) {
        CompletableFuture.delayedExecutor(startTimeout.toMillis(), TimeUnit.MILLISECONDS)
                .execute(() -> rendezvousGeneration.expire(DurationFormat.seconds(startTimeout)));
        return rendezvousGeneration;
    }
}
