package org.horovod4j.launcher.driver;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/// Selects the workers of the next generation, and decides when to start it.
///
/// Workers on a host that is no longer listed stay as long as there are too few others. One of them
/// also stays as long as no other worker has the state of the training.
final class MembershipPlan {
    /// How long ready workers wait for starting ones, so that they join together.
    static final Duration MAX_JOIN_WAIT = Duration.ofSeconds(5);

    private final JobState jobState;
    private final WorkerTable workers;

    MembershipPlan(JobState jobState) {
        this.jobState = jobState;
        this.workers = jobState.workers;
    }

    /// How the current generation would change if its workers returned now.
    ///
    /// @param working how many are in it
    /// @param staying how many of them stay
    /// @param joining how many join
    /// @param isComplete whether these need not wait for more
    /// @param minWorkers with how many the job continues
    record Change(int working, int staying, int joining, boolean isComplete, int minWorkers) {
        private boolean isGrowing() {
            return joining > 0 && isComplete;
        }

        boolean isShrinking() {
            return staying < working;
        }

        /// Whether to reset: there is a gain, and the job can continue with those that are left.
        boolean isResetDue() {
            return isGrowing() || (isShrinking() && staying > 0 && size() >= minWorkers);
        }

        /// How many there would be.
        int size() {
            return staying + joining;
        }
    }

    Change change(Duration now) {
        List<WorkerState> joining = joining();
        return new Change(
                workers.working().size(),
                staying(),
                joining.size(),
                isComplete(joining, now),
                jobState.limits.minWorkers());
    }

    /// New workers that cannot join: their hosts are gone, or there are enough others.
    List<WorkerState> surplus() {
        List<WorkerState> joining = joining();
        return workers.ready().stream()
                .filter(
                        workerState ->
                                !workerState.hasParticipated() && !joining.contains(workerState))
                .toList();
    }

    private List<WorkerState> joining() {
        return workers.ready().stream()
                .filter(this::hasSlot)
                .limit(Math.max(0, jobState.limits.maxWorkers() - staying()))
                .toList();
    }

    private int staying() {
        return (int) workers.working().stream().filter(this::hasSlot).count();
    }

    /// The workers of the next generation, by seniority. They may be too few.
    List<WorkerState> select(boolean isFirst) {
        List<WorkerState> ready = workers.ready();
        List<WorkerState> chosen =
                new ArrayList<>(
                        ready.stream()
                                .filter(this::hasSlot)
                                .limit(jobState.limits.maxWorkers())
                                .toList());
        for (WorkerState workerState : ready) {
            boolean isNeeded =
                    chosen.size() < jobState.limits.requiredWorkers(isFirst)
                            || (!isFirst && chosen.stream().noneMatch(this::canProvideState));
            if (isNeeded && !hasSlot(workerState)) {
                chosen.add(workerState);
            }
        }
        return chosen.stream()
                .sorted(WorkerState.BY_SENIORITY)
                .limit(jobState.limits.maxWorkers())
                .toList();
    }

    /// Whether others can continue from the state of this worker. Until a worker returns with a
    /// state, each that was in a generation may have it.
    private boolean canProvideState(WorkerState workerState) {
        return jobState.anyWorkerHadState()
                ? workerState.hasTrainingState()
                : workerState.hasParticipated();
    }

    /// Whether ready workers need not wait for more: no other is starting, or they have waited long
    /// enough.
    boolean isComplete(List<WorkerState> ready, Duration now) {
        return (workers.starting().isEmpty() && !jobState.hosts.anyOpening())
                || WorkerTable.earliestReady(ready)
                        .filter(since -> now.minus(since).compareTo(MAX_JOIN_WAIT) >= 0)
                        .isPresent();
    }

    private boolean hasSlot(WorkerState workerState) {
        return jobState.hosts.hasSlotFor(workerState.worker());
    }
}
