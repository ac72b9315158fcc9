package org.horovod4j.launcher.driver;

import java.time.Duration;
import java.util.Comparator;

/// A live worker and its phase.
///
/// @param hasParticipated whether it was in any generation yet
record WorkerState(Worker worker, Phase phase, boolean hasParticipated) {
    /// Whose state is used: workers that have one first, then those that were in a generation, then
    /// new ones; each the oldest first.
    static final Comparator<WorkerState> BY_SENIORITY =
            Comparator.comparing((WorkerState workerState) -> !workerState.hasTrainingState())
                    .thenComparing(workerState -> !workerState.hasParticipated)
                    .thenComparingInt(workerState -> workerState.worker.number());

    sealed interface Phase {}

    /// It has not asked for a place yet.
    record Starting() implements Phase {}

    /// It waits for a place.
    ///
    /// @param stateGeneration the generation whose state it has; negative for none
    /// @param failure the failure that it saw; empty for none
    record Ready(int stateGeneration, String failure, Duration since) implements Phase {}

    /// It is in the current generation.
    record Working(int rank) implements Phase {}

    /// It was told to end.
    record Leaving() implements Phase {}

    static WorkerState starting(Worker worker) {
        return new WorkerState(worker, new Starting(), false);
    }

    WorkerState ready(int from, String why, Duration now) {
        return new WorkerState(worker, new Ready(from, why, now), hasParticipated);
    }

    WorkerState working(int rank) {
        return new WorkerState(worker, new Working(rank), true);
    }

    WorkerState leaving() {
        return new WorkerState(worker, new Leaving(), hasParticipated);
    }

    boolean hasTrainingState() {
        return phase instanceof Ready ready && ready.stateGeneration >= 0;
    }

    /// Whether it has the same state as the other workers of that generation.
    boolean isInSyncWith(int generation) {
        return phase instanceof Ready ready
                && ready.stateGeneration == generation
                && ready.failure.isEmpty();
    }

    /// For messages.
    @Override
    public String toString() {
        return phase instanceof Working(int rank)
                ? "%s (rank %d)".formatted(worker, rank)
                : worker.toString();
    }
}
