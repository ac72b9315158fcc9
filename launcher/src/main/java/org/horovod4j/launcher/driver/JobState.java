package org.horovod4j.launcher.driver;

import org.jspecify.annotations.Nullable;

import java.util.Optional;

/// How far a job has come, and what has befallen the generation that runs.
final class JobState {
    private final int maxResets;
    private final PendingActions actions;
    private int generation = -1;
    private boolean hasLostWorker;
    private boolean isFinishing;
    private boolean isAborted;
    private boolean anyWorkerHadState;
    private Driver.@Nullable Failure failure;

    JobState(ElasticLimits elasticLimits, PendingActions pendingActions) {
        this.maxResets = elasticLimits.maxResets();
        this.actions = pendingActions;
    }

    /// The number of the newest generation; negative before the first.
    int generation() {
        return generation;
    }

    boolean hasStarted() {
        return generation >= 0;
    }

    /// How many generations there were after the first.
    int resets() {
        return Math.max(0, generation);
    }

    /// Whether another generation is allowed.
    boolean canStartGeneration() {
        return !hasStarted() || resets() < maxResets;
    }

    /// Begins the next generation, which has lost nobody yet.
    void startGeneration() {
        generation++;
        hasLostWorker = false;
        failure = null;
    }

    /// Notes that a worker is lost. One that was in no generation, or was told to end, is missed by
    /// nobody.
    void workerLost(WorkerState workerState, String how) {
        if (workerState.phase() instanceof WorkerState.Leaving) {
            return;
        }
        hasLostWorker |= workerState.hasParticipated();
        if (failure == null && (workerState.hasParticipated() || !hasStarted())) {
            failure = new Driver.Failure(workerState.worker(), workerState.worker().toString(), how);
        }
    }

    /// Notes that a worker asks for a place.
    ///
    /// @param from the generation whose state it has; negative for none
    /// @param why the failure that it saw; empty for none
    void workerReturned(int from, String why) {
        hasLostWorker |= !why.isEmpty();
        anyWorkerHadState |= from >= 0;
    }

    /// Whether the generation is known to have lost somebody, so that all its workers will come
    /// back.
    boolean hasLostWorker() {
        return hasLostWorker;
    }

    /// Whether any worker ever had the state of the training.
    boolean anyWorkerHadState() {
        return anyWorkerHadState;
    }

    /// The first worker to fail in this generation.
    Optional<Driver.Failure> failure() {
        return Optional.ofNullable(failure);
    }

    /// A worker has come to the end of the training.
    void finish() {
        isFinishing = true;
    }

    boolean isFinishing() {
        return isFinishing;
    }

    /// The job cannot go on.
    void abort(String reason) {
        isAborted = true;
        actions.add(new DriverAction.AbortJob(reason));
    }

    boolean isAborted() {
        return isAborted;
    }
}
