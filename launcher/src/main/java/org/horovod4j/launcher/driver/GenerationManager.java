package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.text.MessageText;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.stream.Collectors;

/// Starts a generation when the one before is over, and requests a reset when workers can join or
/// must leave.
///
/// Survivors of a loss never wait for a process to start. If there are enough of them they continue
/// at once, and new workers start beside them. All are asked to return only when the new workers
/// are ready, which costs the time of a commit and not of a start.
///
/// Workers on a host that is no longer listed stay as long as there are too few others. One of them
/// also stays as long as no other worker has the state of the training.
final class GenerationManager {
    /// How long ready workers wait for starting ones, so that they join together.
    static final Duration MAX_JOIN_WAIT = Duration.ofSeconds(5);

    private final JobState jobState;
    private final WorkerTable workers;
    private final PendingActions actions;
    private boolean isResetRequested;
    private boolean isShortageReported;
    private boolean isWaitReported;
    private @Nullable Duration idleSince = Duration.ZERO;

    GenerationManager(JobState jobState) {
        this.jobState = jobState;
        this.workers = jobState.workers;
        this.actions = jobState.actions;
    }

    /// Starts the next generation if no worker is in the current one and enough workers are ready.
    void startGeneration(Duration now) {
        boolean isFirst = !jobState.hasStarted();
        List<WorkerState> chosen = select(isFirst);
        if (!workers.working().isEmpty()
                || chosen.size() < jobState.limits.requiredWorkers(isFirst)
                || (isFirst && !isComplete(chosen, now))) {
            return;
        }
        if (jobState.anyWorkerHadState()
                && chosen.stream().noneMatch(WorkerState::hasTrainingState)) {
            jobState.abort(
                    "the workers that are left never got the state of the training. Start it"
                            + " again from a checkpoint");
        } else if (!jobState.canStartGeneration()) {
            jobState.abort(
                    ("its workers have changed %s, which is all that --reset-limit allows. Raise"
                                    + " it, or leave it out")
                            .formatted(MessageText.count(jobState.resets(), "time")));
        } else {
            startGeneration(chosen);
        }
    }

    /// The workers of the next generation, by seniority. They may be too few.
    private List<WorkerState> select(boolean isFirst) {
        List<WorkerState> ready = workers.ready();
        int maxWorkers = jobState.limits.maxWorkers();
        List<WorkerState> chosen =
                new ArrayList<>(ready.stream().filter(this::hasSlot).limit(maxWorkers).toList());
        for (WorkerState workerState : ready) {
            boolean isNeeded =
                    chosen.size() < jobState.limits.requiredWorkers(isFirst)
                            || (!isFirst && chosen.stream().noneMatch(this::canProvideState));
            if (isNeeded && !hasSlot(workerState)) {
                chosen.add(workerState);
            }
        }
        return chosen.stream().sorted(WorkerState.BY_SENIORITY).limit(maxWorkers).toList();
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
    private boolean isComplete(List<WorkerState> ready, Duration now) {
        return (workers.starting().isEmpty() && !jobState.hosts.anyOpening())
                || WorkerTable.anyReadyFor(MAX_JOIN_WAIT, ready, now);
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
        actions.info(describe(jobState.generation(), chosen, sync) + cause);
        SequencedMap<Worker, Slot> places =
                Ranking.of(chosen.stream().map(WorkerState::worker).toList());
        places.forEach((worker, slot) -> workers.update(worker, it -> it.working(slot.rank())));
        actions.add(new DriverAction.StartGeneration(jobState.generation(), places, sync));
        workers.ready().forEach(this::dismiss);
    }

    /// As in "generation 1: 3 workers (gpu1:1, gpu2:2), with worker 4, state from worker 0".
    private static String describe(int generation, List<WorkerState> members, boolean sync) {
        Map<String, Integer> byHost = new LinkedHashMap<>();
        members.forEach(workerState -> byHost.merge(workerState.worker().host(), 1, Integer::sum));
        String hosts =
                byHost.entrySet().stream()
                        .map(host -> new Host(host.getKey(), host.getValue()).toString())
                        .collect(Collectors.joining(", "));
        String text =
                "generation %d: %s (%s)"
                        .formatted(generation, MessageText.count(members.size(), "worker"), hosts);
        if (generation == 0) {
            return text;
        }
        List<Worker> joining =
                members.stream()
                        .filter(workerState -> !workerState.hasParticipated())
                        .map(WorkerState::worker)
                        .toList();
        return text
                + (joining.isEmpty() ? "" : ", with " + Worker.numbers("worker", joining))
                + (sync ? ", state from worker " + members.getFirst().worker().number() : "");
    }

    private String causeText() {
        return jobState.failure()
                .map(it -> ", after the loss of worker %d".formatted(it.worker().number()))
                .orElse("");
    }

    private void dismiss(WorkerState workerState) {
        jobState.dismiss(
                workerState,
                hasSlot(workerState)
                        ? "there are as many workers as --max-np allows"
                        : "its host is gone");
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
        int working = workers.working().size();
        int staying = staying();
        List<WorkerState> joining = joining();
        int size = staying + joining.size();
        boolean isGrowing = !joining.isEmpty() && isComplete(joining, now);
        boolean isShrinking = staying < working;
        if (isGrowing || (isShrinking && staying > 0 && size >= jobState.limits.minWorkers())) {
            isResetRequested = true;
            actions.verbose(
                    "%s called back at the next commit: %d joining, %d leaving"
                            .formatted(
                                    MessageText.count(working, "worker"),
                                    joining.size(),
                                    working - staying));
            actions.add(new DriverAction.RequestReset());
        } else {
            // New workers that cannot join: their hosts are gone, or there are enough others.
            workers.ready().stream()
                    .filter(it -> !it.hasParticipated() && !joining.contains(it))
                    .forEach(this::dismiss);
            if (isShrinking && !isShortageReported) {
                actions.info(
                        ("without the hosts that are gone there would be %s, and --min-np is"
                                        + " %d: they stay until others come")
                                .formatted(
                                        MessageText.count(size, "worker"),
                                        jobState.limits.minWorkers()));
            }
        }
        isShortageReported = isShrinking;
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

    private boolean hasSlot(WorkerState workerState) {
        return jobState.hosts.hasSlotFor(workerState.worker());
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
                    "the job needs %s, and its hosts have slots for %d (%s): it waits for more, %d s at most"
                            .formatted(
                                    MessageText.count(needed, "worker"),
                                    slots,
                                    jobState.hosts,
                                    jobState.timeout.toSeconds()));
        }
        if (now.minus(idleSince).compareTo(jobState.timeout) >= 0) {
            jobState.abort(
                    ("after %d s it has %s ready, and it needs %d. Hosts: %s. Find more of them, or"
                                    + " raise --elastic-timeout")
                            .formatted(
                                    jobState.timeout.toSeconds(),
                                    MessageText.count(workers.ready().size(), "worker"),
                                    needed,
                                    jobState.hosts));
        }
    }
}
