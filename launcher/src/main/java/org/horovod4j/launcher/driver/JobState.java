package org.horovod4j.launcher.driver;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Optional;

/// The state of an elastic job, which all parts of [ElasticDriver] share: its hosts and workers, its
/// progress, and what happened to its current generation.
final class JobState {
    final ElasticLimits limits;

    /// How long the job waits for enough workers.
    final Duration timeout;

    final HostPool hosts = new HostPool();
    final WorkerTable workers = new WorkerTable();
    final PendingActions actions = new PendingActions();
    private int generation = -1;
    private boolean hasLostWorker;
    private boolean isFinishing;
    private boolean isAborted;
    private boolean anyWorkerHadState;
    private Driver.@Nullable Failure failure;

    JobState(ElasticLimits limits, Duration timeout) {
        this.limits = limits;
        this.timeout = timeout;
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
        return !hasStarted() || resets() < limits.maxResets();
    }

    /// Begins the next generation.
    void startGeneration() {
        generation++;
        hasLostWorker = false;
        failure = null;
    }

    /// A worker is lost. Workers that were in no generation, or were told to end, are not missed.
    void workerLost(WorkerState workerState, String how) {
        if (workerState.phase() instanceof WorkerState.Leaving) {
            return;
        }
        hasLostWorker |= workerState.hasParticipated();
        if (failure == null && (workerState.hasParticipated() || !hasStarted())) {
            failure =
                    new Driver.Failure(workerState.worker(), workerState.worker().toString(), how);
        }
    }

    /// A worker asks for a place.
    ///
    /// @param from the generation whose state it has; negative for none
    /// @param why the failure that it saw; empty for none
    void workerReturned(int from, String why) {
        hasLostWorker |= !why.isEmpty();
        anyWorkerHadState |= from >= 0;
    }

    /// Whether the generation has lost a worker, so that all its workers will return.
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

    /// Tells a worker that it gets no place.
    void dismiss(WorkerState workerState, String reason) {
        workers.markLeaving(workerState.worker());
        actions.add(new DriverAction.DismissWorker(workerState.worker(), reason));
    }

    /// A worker has completed the training.
    void finish() {
        isFinishing = true;
    }

    boolean isFinishing() {
        return isFinishing;
    }

    /// The job cannot continue.
    void abort(String reason) {
        isAborted = true;
        actions.add(new DriverAction.AbortJob(reason));
    }

    boolean isAborted() {
        return isAborted;
    }
}
