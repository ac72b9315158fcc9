package org.horovod4j.launcher.elastic;

import java.time.Duration;
import java.util.Comparator;

/// A live worker, and how far it has come.
///
/// @param hasServed whether it was in any generation yet
record Member(Worker worker, Phase phase, boolean hasServed) {
    /// Whose state counts: whoever has one before whoever lost it on the way, and those before new
    /// ones; the oldest first.
    static final Comparator<Member> SENIORITY =
            Comparator.comparing((Member member) -> !member.hasState())
                    .thenComparing(member -> !member.hasServed)
                    .thenComparingInt(member -> member.worker.number());

    sealed interface Phase {}

    /// Its process runs, and has not asked for a place yet.
    record Starting() implements Phase {}

    /// It waits for a place.
    ///
    /// @param from the generation whose state it has; negative for none
    /// @param why the failure that it saw; empty for none
    record Ready(int from, String why, Duration since) implements Phase {}

    /// It belongs to the generation that runs.
    record Working(int rank) implements Phase {}

    /// It was told to end.
    record Leaving() implements Phase {}

    static Member starting(Worker worker) {
        return new Member(worker, new Starting(), false);
    }

    Member ready(int from, String why, Duration now) {
        return new Member(worker, new Ready(from, why, now), hasServed);
    }

    Member working(int rank) {
        return new Member(worker, new Working(rank), true);
    }

    Member leaving() {
        return new Member(worker, new Leaving(), hasServed);
    }

    boolean hasState() {
        return phase instanceof Ready ready && ready.from >= 0;
    }

    /// Whether it has the state that the workers of that generation have in common.
    boolean comesInOrderFrom(int generation) {
        return phase instanceof Ready ready && ready.from == generation && ready.why.isEmpty();
    }

    /// As messages name it.
    @Override
    public String toString() {
        return phase instanceof Working(int rank)
                ? "%s (rank %d)".formatted(worker, rank)
                : worker.toString();
    }
}
