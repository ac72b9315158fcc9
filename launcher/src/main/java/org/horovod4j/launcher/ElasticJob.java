package org.horovod4j.launcher;

import org.horovod4j.elastic.registry.WorkerPlacement;
import org.horovod4j.elastic.registry.WorkerRegistry;
import org.horovod4j.launcher.driver.DriverAction;
import org.horovod4j.launcher.driver.DriverEvent;
import org.horovod4j.launcher.driver.ElasticDriver;
import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.output.OutputTargets;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.process.ExitStatus;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.Signal;
import org.horovod4j.rendezvous.RendezvousServer;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/// An elastic job, from the first start to the last end: does what the [ElasticDriver] decides.
///
/// Whatever happens arrives as [ElasticJobEvent] in one queue, and the thread in [#run] alone acts on
/// it. What may take long is left to [HostTasks], which end in news.
final class ElasticJob implements WorkerRegistry.Listener {
    /// How often time is noticed to pass.
    private static final Duration TICK = Duration.ofMillis(200);

    /// Where workers are received: they ask for places at the desk, and meet at the rendezvous.
    ///
    /// @param variables what a worker needs to find both
    record Reception(
            RendezvousServer rendezvous, WorkerRegistry desk, HostTasks.Variables variables) {}

    private final ElasticDriver elasticDriver;
    private final ElasticHosts hosts;
    private final HostTasks hostTasks;
    private final LauncherConsole launcherConsole;
    private final boolean verbose;
    private final TerminationSequence terminationSequence;
    private final long startedNanos = System.nanoTime();
    private final BlockingQueue<ElasticJobEvent> news = new LinkedBlockingQueue<>();
    private final WorkerProcesses workerProcesses = new WorkerProcesses();
    private final Map<Integer, Integer> ranks = new HashMap<>();
    private int generation = -1;
    private long stamp;
    private Duration took = Duration.ZERO;
    private @Nullable WorkerProcess culprit;
    private @Nullable String verdict;
    private @Nullable Signal interruption;

    ElasticJob(
            ElasticDriver elasticDriver,
            ElasticHosts hosts,
            OutputTargets outputTargets,
            boolean verbose) {
        this.elasticDriver = elasticDriver;
        this.hosts = hosts;
        this.hostTasks = new HostTasks(hosts, outputTargets, news::add);
        this.launcherConsole = outputTargets.launcherConsole();
        this.verbose = verbose;
        this.terminationSequence = new TerminationSequence(hosts::signal);
    }

    /// Tells of hosts that were found. May be called from any thread.
    void found(List<Host> found) {
        news.add(new ElasticJobEvent.ForDriver(new DriverEvent.HostsDiscovered(found)));
    }

    @Override
    public void ready(int worker, int from, String why) {
        news.add(new ElasticJobEvent.ForDriver(new DriverEvent.WorkerReady(worker, from, why)));
    }

    @Override
    public void lost(int worker, String how) {
        news.add(new ElasticJobEvent.ForDriver(new DriverEvent.WorkerUnresponsive(worker, how)));
    }

    /// Passes a signal of the launcher's own on to the job. May be called from any thread.
    void interrupt(Signal signal) {
        news.add(new ElasticJobEvent.Interrupted(signal));
    }

    /// Runs the job until no worker is left.
    void run(Reception reception) throws InterruptedException {
        while (!isOver()) {
            Duration wait = terminationSequence.timeLeft();
            boolean isTicking = wait.compareTo(TICK) > 0;
            switch (news.poll((isTicking ? TICK : wait).toNanos(), TimeUnit.NANOSECONDS)) {
                case ElasticJobEvent.ForDriver(DriverEvent driverEvent) ->
                        decide(driverEvent, reception);
                case ElasticJobEvent.HostLost(String host, HostAgent agent, String reason) ->
                        hostLost(host, agent, reason, reception);
                case ElasticJobEvent.Started(WorkerProcess process) -> started(process);
                case ElasticJobEvent.NotStarted(Worker worker, String reason) ->
                        notStarted(worker, reason, reception);
                case ElasticJobEvent.Exited(WorkerProcess process, ExitStatus exitStatus) ->
                        exited(process, exitStatus, reception);
                case ElasticJobEvent.Interrupted(Signal signal) -> interrupted(signal);
                case null -> {
                    if (isTicking) {
                        decide(new DriverEvent.TimePassed(), reception);
                    } else {
                        terminationSequence.escalate();
                        explain("%s: %s".formatted(terminationSequence, workerProcesses.running()));
                    }
                }
            }
        }
        took = terminationSequence.elapsed();
    }

    private boolean isOver() {
        return terminationSequence.hasStarted()
                ? workerProcesses.isEmpty() || terminationSequence.hasGivenUp()
                : elasticDriver.isOver() && workerProcesses.isEmpty();
    }

    private void hostLost(String host, HostAgent agent, String reason, Reception reception) {
        if (!hosts.isAgent(agent, host)) {
            return; // the job had let go of it, and may have the host again through another
        }
        for (Worker worker : workerProcesses.removeHost(host)) {
            rank(worker)
                    .ifPresent(
                            rank ->
                                    reception.rendezvous.reportLoss(
                                            generation, rank, "contact with its host was lost"));
        }
        hosts.remove(host, () -> {});
        decide(new DriverEvent.HostLost(host, reason), reception);
    }

    private void started(WorkerProcess process) {
        workerProcesses.started(process);
        var _ =
                process.process()
                        .onExit()
                        .thenAccept(
                                it ->
                                        news.add(
                                                new ElasticJobEvent.Exited(
                                                        process, new ExitStatus(it.exitValue()))));
        explain("started " + process);
        if (terminationSequence.hasSignalled()) {
            process.kill(); // the signal came too early for it
        }
    }

    private void notStarted(Worker worker, String reason, Reception reception) {
        workerProcesses.notStarted(worker);
        decide(
                new DriverEvent.WorkerExited(
                        worker.number(), true, "it cannot be started: " + reason),
                reception);
    }

    private void exited(WorkerProcess process, ExitStatus exitStatus, Reception reception) {
        if (!workerProcesses.ended(process)) {
            return; // its host was lost before
        }
        if (exitStatus.failed()) {
            process.kill(); // and with it what it started, which may hold a device
        }
        process.ended();
        Worker worker = process.worker();
        rank(worker)
                .ifPresent(
                        rank ->
                                reception.rendezvous.reportExit(
                                        generation, rank, exitStatus.toString()));
        decide(
                new DriverEvent.WorkerExited(
                        worker.number(), exitStatus.failed(), exitStatus.toString()),
                reception);
        if (elasticDriver.failure().filter(it -> it.worker().equals(worker)).isPresent()) {
            culprit = process;
        }
    }

    private Optional<Integer> rank(Worker worker) {
        return Optional.ofNullable(ranks.get(worker.number()));
    }

    private void interrupted(Signal signal) {
        interruption = signal;
        terminationSequence.signal(
                signal); // before it is told, as a console may be stopped by its user
        launcherConsole.printMessage(
                "got %s, ending %d processes".formatted(signal, workerProcesses.running().size()));
    }

    private void decide(DriverEvent driverEvent, Reception reception) {
        if (terminationSequence.hasStarted()) {
            return; // there is nothing more to decide
        }
        Duration now = Duration.ofNanos(System.nanoTime() - startedNanos);
        for (DriverAction driverAction : elasticDriver.handle(driverEvent, now)) {
            act(driverAction, reception);
        }
    }

    private void act(DriverAction driverAction, Reception reception) {
        switch (driverAction) {
            case DriverAction.OpenHost(Host host) -> hostTasks.open(host);
            case DriverAction.ReleaseHost(String host) ->
                    hostTasks.release(host, workerProcesses.withOpenOutputOn(host));
            case DriverAction.StartWorker(Worker worker) -> {
                workerProcesses.starting(worker);
                hostTasks.start(worker, reception.variables);
            }
            case DriverAction.StartGeneration(
                            int number,
                            SequencedMap<Worker, Slot> slots,
                            boolean sync) ->
                    form(number, slots, sync, reception);
            case DriverAction.RequestReset() -> reception.desk.hostsUpdated(++stamp);
            case DriverAction.DismissWorker(Worker worker, String reason) -> {
                workerProcesses.find(worker).ifPresent(WorkerProcess::leaves);
                reception.desk.dismiss(worker.number(), reason);
            }
            case DriverAction.KillWorker(Worker worker) -> workerProcesses.kill(worker);
            case DriverAction.AbortJob(String reason) -> {
                verdict = reason;
                terminationSequence.signal(Signal.TERM);
            }
            case DriverAction.Info(String text) -> launcherConsole.printMessage(text);
            case DriverAction.Verbose(String text) -> explain(text);
        }
    }

    private void form(
            int number, SequencedMap<Worker, Slot> slots, boolean sync, Reception reception) {
        generation = number;
        ranks.clear();
        reception.rendezvous.beginGeneration(number, slots.size());
        slots.forEach(
                (worker, slot) -> {
                    ranks.put(worker.number(), slot.rank());
                    workerProcesses.find(worker).ifPresent(process -> process.becomes(slot.rank()));
                    reception.desk.assign(worker.number(), place(number, slot, sync));
                });
        if (verbose) {
            launcherConsole.printMessage(GenerationTable.of(number, slots, this::pid));
        }
    }

    private static WorkerPlacement place(int generation, Slot slot, boolean sync) {
        return new WorkerPlacement(
                generation,
                slot.rank(),
                slot.size(),
                slot.localRank(),
                slot.localSize(),
                slot.crossRank(),
                slot.crossSize(),
                sync);
    }

    private Optional<Long> pid(Worker worker) {
        return workerProcesses.find(worker).map(process -> process.process().pid());
    }

    /// Whether the job did what it was started for.
    boolean wentWell() {
        return outcome() instanceof ElasticOutcome.Done;
    }

    /// Ends what is left of the job, and says how it went.
    ///
    /// @return the exit code of the launcher
    int conclude() throws IOException, InterruptedException {
        sweep();
        workerProcesses.awaitOutput();
        for (WorkerProcess process : workerProcesses.running()) {
            launcherConsole.printMessage(
                    "gave up on %s, which does not even end by SIGKILL".formatted(process));
        }
        ElasticOutcome outcome = outcome();
        if (!outcome.text().isEmpty()) {
            launcherConsole.printMessage(outcome.text());
        }
        return outcome.exitCode();
    }

    private void sweep() throws IOException, InterruptedException {
        for (String left : hosts.sweep()) {
            String message = "ended a process that the job had left behind: " + left;
            if (terminationSequence.hasSignalled()) {
                explain(message);
            } else {
                launcherConsole.printMessage(message);
            }
        }
    }

    /// Complete once all output is there.
    private ElasticOutcome outcome() {
        if (interruption != null) {
            return new ElasticOutcome.Interrupted(interruption, took);
        }
        Optional<ElasticDriver.Failure> first = elasticDriver.failure();
        return verdict == null && first.isEmpty()
                ? new ElasticOutcome.Done()
                : new ElasticOutcome.Failed(
                        verdict, first, first.map(it -> lastErrors(it.worker())).orElse(List.of()));
    }

    /// Nothing when the culprit known is that of an earlier generation: the worker's host was lost.
    private List<String> lastErrors(Worker worker) {
        return culprit != null && culprit.worker().equals(worker)
                ? culprit.lastErrors()
                : List.of();
    }

    private void explain(String step) {
        if (verbose) {
            launcherConsole.printMessage(step);
        }
    }
}
