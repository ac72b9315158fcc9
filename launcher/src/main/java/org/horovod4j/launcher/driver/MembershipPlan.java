package org.horovod4j.launcher.driver;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/// Who would be in the next generation, and whether it is time for one.
///
/// Workers on a host that is no longer listed count as long as there are too few without them, and
/// one of them as long as nobody else has the state: whoever was lost before it arrived has not.
final class MembershipPlan {
    /// How long workers that are ready wait for others that are starting, to come in together.
    static final Duration MAX_JOIN_WAIT = Duration.ofSeconds(5);

    private final ElasticLimits elasticLimits;
    private final HostPool hosts;
    private final WorkerTable workers;
    private final JobState jobState;

    MembershipPlan(
            ElasticLimits elasticLimits,
            HostPool hosts,
            WorkerTable workerTable,
            JobState jobState) {
        this.elasticLimits = elasticLimits;
        this.hosts = hosts;
        this.workers = workerTable;
        this.jobState = jobState;
    }

    /// How the generation that runs would change if its workers were called back now.
    ///
    /// @param working how many are in it
    /// @param staying how many of them stay
    /// @param joining how many come in
    /// @param isComplete whether those need not wait for more
    /// @param minWorkers with how many the job goes on
    record Change(int working, int staying, int joining, boolean isComplete, int minWorkers) {
        private boolean isGrowing() {
            return joining > 0 && isComplete;
        }

        boolean isShrinking() {
            return staying < working;
        }

        /// Whether it is worth a reset, and the job can go on with those that are left.
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
                elasticLimits.minWorkers());
    }

    /// New workers that would not come in: their hosts are gone meanwhile, or there are enough
    /// others.
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
                .limit(Math.max(0, elasticLimits.maxWorkers() - staying()))
                .toList();
    }

    private int staying() {
        return (int) workers.working().stream().filter(this::hasSlot).count();
    }

    /// The workers of the next generation, the senior one first. They may be too few.
    List<WorkerState> select(boolean isFirst) {
        List<WorkerState> ready = workers.ready();
        List<WorkerState> chosen =
                new ArrayList<>(
                        ready.stream()
                                .filter(this::hasSlot)
                                .limit(elasticLimits.maxWorkers())
                                .toList());
        for (WorkerState workerState : ready) {
            boolean isNeeded =
                    chosen.size() < elasticLimits.requiredWorkers(isFirst)
                            || (!isFirst && chosen.stream().noneMatch(this::canProvideState));
            if (isNeeded && !hasSlot(workerState)) {
                chosen.add(workerState);
            }
        }
        return chosen.stream()
                .sorted(WorkerState.BY_SENIORITY)
                .limit(elasticLimits.maxWorkers())
                .toList();
    }

    /// Whether others can go on from what this one has. Before anybody has come back with a state,
    /// all that were in a generation may have it.
    private boolean canProvideState(WorkerState workerState) {
        return jobState.anyWorkerHadState()
                ? workerState.hasTrainingState()
                : workerState.hasParticipated();
    }

    /// Whether those that are ready need not wait for more: nobody else is on the way, or for too
    /// long.
    boolean isComplete(List<WorkerState> ready, Duration now) {
        return (workers.starting().isEmpty() && !hosts.anyOpening())
                || WorkerTable.earliestReady(ready)
                        .filter(since -> now.minus(since).compareTo(MAX_JOIN_WAIT) >= 0)
                        .isPresent();
    }

    private boolean hasSlot(WorkerState workerState) {
        return hosts.hasSlotFor(workerState.worker());
    }
}
