package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.text.MessageText;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/// Decides which workers an elastic job has.
///
/// A *generation* is a fixed set of workers with ranks. It ends when a worker is lost, or when all
/// workers are asked to return because hosts came or went. The remaining workers then ask for a
/// place in the next generation.
///
/// [GenerationManager] decides who is in the next generation, [SlotFiller] who is started, and
/// [LivenessMonitor] who is killed. They share [JobState].
public final class ElasticDriver implements Driver {
    private final Blacklist blacklist;
    private final LivenessMonitor livenessMonitor = new LivenessMonitor();
    private final JobState jobState;
    private final HostPool hosts;
    private final WorkerTable workers;
    private final PendingActions actions;
    private final GenerationManager generations;
    private final SlotFiller slotFiller;
    private boolean isSignalSent;

    /// @param timeout how long the job waits for enough workers
    public ElasticDriver(ElasticLimits limits, Duration timeout, Cooldown cooldown) {
        this.blacklist = new Blacklist(cooldown);
        this.jobState = new JobState(limits, timeout);
        this.hosts = jobState.hosts;
        this.workers = jobState.workers;
        this.actions = jobState.actions;
        this.generations = new GenerationManager(jobState);
        this.slotFiller = new SlotFiller(jobState, blacklist);
    }

    @Override
    public List<DriverAction> handle(DriverEvent driverEvent, Duration now) {
        isSignalSent |= driverEvent instanceof DriverEvent.SignalSent;
        if (isSignalSent) {
            return List.of(); // the job ends: there is nothing to decide
        }
        switch (driverEvent) {
            case DriverEvent.HostsDiscovered(List<Host> found) -> hostsDiscovered(found);
            case DriverEvent.HostOpened(String host) -> hosts.markOpen(host);
            case DriverEvent.HostNotReady(String host, String reason) ->
                    hostNotReady(host, reason, now);
            case DriverEvent.HostLost(String host, String reason) -> hostLost(host, reason, now);
            case DriverEvent.WorkerReady(int worker, int from, String why) ->
                    workerReady(worker, from, why, now);
            case DriverEvent.WorkerUnresponsive(int worker, String how) ->
                    workerUnresponsive(worker, how, now);
            case DriverEvent.WorkerExited(int worker, boolean failed, String how) ->
                    workerExited(worker, failed, how, now);
            case DriverEvent.WorkerNotStarted(int worker, String reason) ->
                    workerExited(worker, true, "it cannot be started: " + reason, now);
            case DriverEvent.JobStarted _,
                    DriverEvent.WorkerStarted _,
                    DriverEvent.FailureReported _,
                    DriverEvent.RankMissed _,
                    DriverEvent.SignalSent _,
                    DriverEvent.TimePassed _ -> {}
        }
        if (!jobState.isAborted()) {
            decide(now);
        }
        return actions.drain();
    }

    @Override
    public boolean isOver() {
        return (jobState.isFinishing() || jobState.isAborted()) && workers.isEmpty();
    }

    /// The first worker to fail in the generation that is the last so far.
    @Override
    public Optional<Failure> failure() {
        return jobState.failure();
    }

    @Override
    public boolean replacesFailedWorkers() {
        return true;
    }

    private void hostsDiscovered(List<Host> found) {
        boolean isFirst = hosts.listed().isEmpty();
        if (found.isEmpty()) {
            actions.info(
                    isFirst
                            ? "no host is listed yet; the job waits for some"
                            : "no host is listed any more; the job continues with those it has");
            return;
        }
        String changes = hosts.update(found);
        if (!changes.isEmpty()) {
            String text = "hosts: " + changes;
            actions.add(isFirst ? new DriverAction.Verbose(text) : new DriverAction.Info(text));
        }
    }

    private void hostNotReady(String host, String reason, Duration now) {
        hosts.markClosed(host);
        actions.info(
                "host %s is not ready: %s\n  %s".formatted(host, reason, blacklistHost(host, now)));
    }

    private void hostLost(String host, String reason, Duration now) {
        if (!hosts.isOpen(host)) {
            return; // it was released, and may be opening again
        }
        hosts.markClosed(host);
        List<WorkerState> gone = workers.onHost(host);
        if (gone.isEmpty()) {
            actions.verbose("lost contact with host %s, which has no workers".formatted(host));
            return;
        }
        for (WorkerState workerState : gone) {
            int number = workerState.worker().number();
            workers.remove(number);
            livenessMonitor.markAlive(number);
            jobState.workerLost(workerState, HOST_LOST);
        }
        List<Worker> lost = gone.stream().map(WorkerState::worker).toList();
        actions.info(
                "lost contact with host %s (%s): %s %s"
                        .formatted(
                                host,
                                Worker.numbers("worker", lost),
                                MessageText.sentence(reason),
                                blacklistHost(host, now)));
    }

    private void workerReady(int number, int from, String why, Duration now) {
        livenessMonitor.markAlive(number);
        WorkerState workerState = workers.find(number).orElse(null);
        if (workerState == null || workerState.phase() instanceof WorkerState.Leaving) {
            return; // it was told to end
        }
        if (!why.isEmpty()) {
            actions.verbose(
                    "%s returns: %s".formatted(workerState, why.lines().findFirst().orElse("")));
        }
        jobState.workerReturned(from, why);
        workers.update(workerState.worker(), before -> before.ready(from, why, now));
    }

    private void workerUnresponsive(int number, String how, Duration now) {
        if (workers.find(number).isPresent()) { // else it has exited
            livenessMonitor.markUnresponsive(number, how, now);
        }
    }

    private void workerExited(int number, boolean failed, String how, Duration now) {
        Optional<String> killedFor = livenessMonitor.ended(number);
        WorkerState workerState = workers.remove(number).orElse(null);
        if (workerState == null) {
            return; // its host was lost before
        }
        if (workerState.phase() instanceof WorkerState.Leaving || jobState.isAborted()) {
            actions.verbose("%s has left: %s".formatted(workerState, how));
        } else if (failed || !isEndOfTraining(workerState)) {
            String reason =
                    failed
                            ? killedFor.map(why -> why + ", so it was killed").orElse(how)
                            : "it exited before it took part in the training, with " + how;
            jobState.workerLost(workerState, reason);
            actions.info(
                    "%s failed: %s.%s"
                            .formatted(
                                    workerState, reason, consequence(workerState.worker(), now)));
        } else {
            jobState.finish();
            actions.verbose("%s has finished".formatted(workerState));
        }
    }

    /// Whether an exit of this worker with code 0 means that the training is complete. A worker
    /// that joined late and was in no generation cannot know that. Before the first generation it
    /// can: the program may be one that never asks for a place.
    private boolean isEndOfTraining(WorkerState workerState) {
        return workerState.hasParticipated() || !jobState.hasStarted();
    }

    private String consequence(Worker worker, Duration now) {
        if (jobState.isFinishing()) {
            return "";
        }
        return blacklist
                .recordFailure(worker, now)
                .map(length -> " Twice on this slot: " + blacklisted(worker.host(), length))
                .orElse(" Its slot gets another try.");
    }

    private String blacklistHost(String host, Duration now) {
        return blacklisted(host, blacklist.ban(host, now));
    }

    private static String blacklisted(String host, Duration length) {
        return "Host %s is blacklisted: nothing is started there for %d s."
                .formatted(host, length.toSeconds());
    }

    private void decide(Duration now) {
        if (jobState.isFinishing()) {
            finish(now);
        } else if (canContinue(now)) {
            generations.startGeneration(now);
            if (!jobState.isAborted()) {
                slotFiller.release();
                startWorkers(now);
                generations.requestReset(now);
                enforceTimeouts(now);
            }
        }
    }

    /// Lets the workers exit. Those that ask for another place are dismissed.
    private void finish(Duration now) {
        workers.ready().forEach(it -> jobState.dismiss(it, "the training has ended"));
        if (jobState.hasStarted()) { // else the program may be one that never asks for a place
            workers.starting().forEach(this::kill);
        }
        killUnresponsive(now);
    }

    private boolean canContinue(Duration now) {
        if (jobState.hasStarted()
                && workers.staying().stream().noneMatch(WorkerState::hasParticipated)) {
            jobState.abort(
                    "all workers are lost, and the state of the training with them. Start it again from"
                            + " a checkpoint");
        } else if (!jobState.hasStarted()
                && workers.isEmpty()
                && !hosts.listed().isEmpty()
                && hosts.listed().stream()
                        .allMatch(host -> blacklist.isBlacklisted(host.name(), now))) {
            jobState.abort(
                    "no host is left: all are blacklisted before the training has begun. Try the command"
                            + " by itself on one of them");
        }
        return !jobState.isAborted();
    }

    /// Starts no workers until the survivors of a loss have returned: a start would take their
    /// processors.
    private void startWorkers(Duration now) {
        boolean isRecovering = jobState.hasLostWorker() && !workers.working().isEmpty();
        if (jobState.canStartGeneration() && !isRecovering) {
            slotFiller.fill(now);
        }
    }

    /// Ends waits that would never end.
    private void enforceTimeouts(Duration now) {
        killUnresponsive(now);
        if (workers.working().isEmpty()) {
            generations.checkIdleTimeout(now);
        } else {
            killStragglersAfterTimeout(now);
        }
    }

    private void killUnresponsive(Duration now) {
        for (int number : livenessMonitor.expired(now)) {
            workers.find(number)
                    .map(WorkerState::worker)
                    .ifPresent(worker -> actions.add(new DriverAction.KillWorker(worker)));
        }
    }

    /// Kills workers that have not returned although others of their generation did long ago.
    private void killStragglersAfterTimeout(Duration now) {
        List<WorkerState> returned =
                workers.ready().stream().filter(WorkerState::hasParticipated).toList();
        if (WorkerTable.anyReadyFor(jobState.timeout, returned, now)) {
            for (WorkerState straggler : workers.working()) {
                livenessMonitor.markOverdue(straggler.worker().number(), now);
            }
        }
    }

    private void kill(WorkerState workerState) {
        workers.markLeaving(workerState.worker());
        actions.add(new DriverAction.KillWorker(workerState.worker()));
    }
}
