package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;
import java.util.SequencedMap;

/// Starts a generation when the one before is over, and requests a reset when workers can join or
/// must leave.
///
/// Survivors of a loss never wait for a process to start. If there are enough of them they continue
/// at once, and new workers start beside them. All are asked to return only when the new workers
/// are ready, which costs the time of a commit and not of a start.
final class GenerationManager {
    private final JobState jobState;
    private final WorkerTable workers;
    private final PendingActions actions;
    private final MembershipPlan membershipPlan;
    private boolean isResetRequested;
    private boolean isShortageReported;
    private boolean isWaitReported;
    private @Nullable Duration idleSince = Duration.ZERO;

    GenerationManager(JobState jobState) {
        this.jobState = jobState;
        this.workers = jobState.workers;
        this.actions = jobState.actions;
        this.membershipPlan = new MembershipPlan(jobState);
    }

    /// Starts the next generation if no worker is in the current one and enough workers are ready.
    void startGeneration(Duration now) {
        boolean isFirst = !jobState.hasStarted();
        List<WorkerState> chosen = membershipPlan.select(isFirst);
        if (!workers.working().isEmpty()
                || chosen.size() < jobState.limits.requiredWorkers(isFirst)
                || (isFirst && !membershipPlan.isComplete(chosen, now))) {
            return;
        }
        if (jobState.anyWorkerHadState()
                && chosen.stream().noneMatch(WorkerState::hasTrainingState)) {
            jobState.abort(
                    "the workers that are left never got the state of the training. Start it"
                            + " again from a checkpoint");
        } else if (!jobState.canStartGeneration()) {
            jobState.abort(
                    ("its workers have changed %d times, which is all that --reset-limit allows. Raise"
                                    + " it, or leave it out")
                            .formatted(jobState.resets()));
        } else {
            startGeneration(chosen);
        }
    }

    private void startGeneration(List<WorkerState> chosen) {
        boolean sync =
                !jobState.hasStarted()
                        || !chosen.stream().allMatch(it -> it.isInSyncWith(jobState.generation()));
        String cause = causeText();
        jobState.startGeneration();
        isResetRequested = false;
        idleSince = null;
        isWaitReported = false;
        actions.info(DriverMessages.describe(jobState.generation(), chosen, sync) + cause);
        SequencedMap<Worker, Slot> places =
                Ranking.of(chosen.stream().map(WorkerState::worker).toList());
        places.forEach((worker, slot) -> workers.update(worker, it -> it.working(slot.rank())));
        actions.add(new DriverAction.StartGeneration(jobState.generation(), places, sync));
        workers.ready().forEach(this::dismiss);
    }

    private String causeText() {
        return jobState.failure()
                .map(it -> ", after the loss of worker %d".formatted(it.worker().number()))
                .orElse("");
    }

    private void dismiss(WorkerState workerState) {
        workers.markLeaving(workerState.worker());
        String reason =
                jobState.hosts.hasSlotFor(workerState.worker())
                        ? "there are as many workers as --max-np allows"
                        : "its host is gone";
        actions.add(new DriverAction.DismissWorker(workerState.worker(), reason));
    }

    /// Asks all workers to return if that would change the generation. Otherwise dismisses workers
    /// that would wait for a place without end.
    void requestReset(Duration now) {
        if (workers.working().isEmpty()
                || isResetRequested
                || jobState.hasLostWorker()
                || !jobState.canStartGeneration()) {
            return;
        }
        MembershipPlan.Change change = membershipPlan.change(now);
        if (change.isResetDue()) {
            isResetRequested = true;
            actions.verbose(
                    "%d workers are called back at their next commit: %d join, %d leave"
                            .formatted(
                                    change.working(),
                                    change.joining(),
                                    change.working() - change.staying()));
            actions.add(new DriverAction.RequestReset());
        } else {
            membershipPlan.surplus().forEach(this::dismiss);
            if (change.isShrinking() && !isShortageReported) {
                actions.info(
                        ("without the hosts that are gone there would be %d workers, and --min-np is"
                                        + " %d: they stay until others come")
                                .formatted(change.size(), jobState.limits.minWorkers()));
            }
        }
        isShortageReported = change.isShrinking();
    }

    /// Reports that the job waits for slots, and aborts it when it has waited too long for enough
    /// workers. To be called while no worker is in a generation.
    void checkIdleTimeout(Duration now) {
        if (idleSince == null) {
            idleSince = now;
        }
        int needed = jobState.limits.requiredWorkers(!jobState.hasStarted());
        int slots = jobState.hosts.listed().stream().mapToInt(Host::slots).sum();
        if (!isWaitReported && slots > 0 && slots < needed) {
            isWaitReported = true;
            actions.info(
                    "the job needs %d workers, and its hosts have slots for %d (%s): it waits for more, %d s at most"
                            .formatted(
                                    needed,
                                    slots,
                                    DriverMessages.describe(jobState.hosts.listed()),
                                    jobState.timeout.toSeconds()));
        }
        if (now.minus(idleSince).compareTo(jobState.timeout) >= 0) {
            jobState.abort(
                    ("after %d s %d workers are ready, and it needs %d. Hosts: %s. Find more of them, or"
                                    + " raise --elastic-timeout")
                            .formatted(
                                    jobState.timeout.toSeconds(),
                                    workers.ready().size(),
                                    needed,
                                    DriverMessages.describe(jobState.hosts.listed())));
        }
    }
}
