package org.horovod4j.launcher;

import org.horovod4j.elastic.registry.WorkerRegistry;
import org.horovod4j.launcher.driver.Driver;
import org.horovod4j.launcher.driver.DriverAction;
import org.horovod4j.launcher.driver.DriverEvent;
import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.output.FailureReport;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.output.OutputTargets;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.process.ExitStatus;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.Signal;
import org.horovod4j.text.DurationFormat;
import org.horovod4j.text.MessageText;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/// The processes of one command of a job, from the first start to the last exit.
///
/// Everything that happens arrives as an [Event] in one queue. The thread in [#run] takes the
/// events in order, asks the [Driver] what to do, and does it. Slow work on hosts is left to
/// [HostTasks], which report through the queue.
final class Job implements WorkerRegistry.Listener {
    /// How often the driver learns the time.
    private static final Duration TICK = Duration.ofMillis(200);

    /// After a signal from the user, processes that run longer than this are reported.
    private static final Duration SLOW_END = Duration.ofSeconds(1);

    sealed interface Event {
        /// An event that only needs a decision.
        record ForDriver(DriverEvent driverEvent) implements Event {}

        /// An agent lost its host. By now the host may have another agent.
        record HostLost(String host, HostAgent agent, String reason) implements Event {}

        record Started(WorkerProcess process) implements Event {}

        record NotStarted(Worker worker, String reason) implements Event {}

        record Exited(WorkerProcess process) implements Event {}

        /// The launcher received a signal.
        record Interrupted(Signal signal) implements Event {}
    }

    private final Driver driver;
    private final Hosts hosts;
    private final HostTasks hostTasks;
    private final LauncherConsole launcherConsole;
    private final boolean verbose;
    private final TerminationSequence terminationSequence;
    private final long startedNanos = System.nanoTime();
    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    private final WorkerProcesses workerProcesses = new WorkerProcesses();
    private boolean isSignalReported;
    private boolean isSlowEndReported;
    private Duration shutdownTime = Duration.ZERO;
    private @Nullable String abortReason;
    private @Nullable String startFailure;
    private @Nullable Signal interruption;

    /// @param command the number of the command among those of [Hosts]
    Job(Driver driver, Hosts hosts, int command, OutputTargets outputTargets, boolean verbose) {
        this.driver = driver;
        this.hosts = hosts;
        this.hostTasks = new HostTasks(hosts, command, outputTargets, events::add);
        this.launcherConsole = outputTargets.launcherConsole();
        this.verbose = verbose;
        this.terminationSequence = new TerminationSequence(hosts::signal);
    }

    /// The hosts that exist now. Thread-safe, like all methods before [#run].
    void found(List<Host> found) {
        notifyDriver(new DriverEvent.HostsDiscovered(found));
    }

    /// The ranks report which of them failed first.
    void failureReported(int rank, String reason) {
        notifyDriver(new DriverEvent.FailureReported(rank, reason));
    }

    /// Ranks report that they cannot continue without a rank.
    void rankMissed(int rank, String reason) {
        notifyDriver(new DriverEvent.RankMissed(rank, reason));
    }

    @Override
    public void ready(int worker, int stateGeneration, String failure) {
        notifyDriver(new DriverEvent.WorkerReady(worker, stateGeneration, failure));
    }

    @Override
    public void lost(int worker, String reason) {
        notifyDriver(new DriverEvent.WorkerUnresponsive(worker, reason));
    }

    private void notifyDriver(DriverEvent driverEvent) {
        events.add(new Event.ForDriver(driverEvent));
    }

    /// Ends the job: the launcher received a signal.
    void interrupt(Signal signal) {
        events.add(new Event.Interrupted(signal));
    }

    /// Runs the job until no process is left.
    void run(WorkerServices services) throws InterruptedException {
        hostTasks.watchReadyHosts();
        decide(new DriverEvent.JobStarted(), services);
        while (!isOver()) {
            Duration wait = terminationSequence.timeLeft();
            boolean isTicking = wait.compareTo(TICK) > 0;
            switch (events.poll((isTicking ? TICK : wait).toNanos(), TimeUnit.NANOSECONDS)) {
                case Event.ForDriver(DriverEvent driverEvent) -> decide(driverEvent, services);
                case Event.HostLost(String host, HostAgent agent, String reason) ->
                        hostLost(host, agent, reason, services);
                case Event.Started(WorkerProcess process) -> started(process, services);
                case Event.NotStarted(Worker worker, String reason) -> {
                    workerProcesses.notStarted(worker);
                    decide(new DriverEvent.WorkerNotStarted(worker.number(), reason), services);
                }
                case Event.Exited(WorkerProcess process) -> exited(process, services);
                case Event.Interrupted(Signal signal) -> interrupted(signal, services);
                case null -> {
                    if (isTicking) {
                        decide(new DriverEvent.TimePassed(), services);
                    } else {
                        terminationSequence.escalate();
                        explain("%s: %s".formatted(terminationSequence, workerProcesses.running()));
                    }
                }
            }
            reportSlowEnd();
            if (terminationSequence.hasSignalled() && !isSignalReported) {
                isSignalReported = true;
                decide(new DriverEvent.SignalSent(), services);
            }
        }
        shutdownTime = terminationSequence.elapsed();
    }

    private boolean isOver() {
        return (workerProcesses.isEmpty() && (terminationSequence.hasStarted() || driver.isOver()))
                || terminationSequence.hasGivenUp();
    }

    private void hostLost(String host, HostAgent agent, String reason, WorkerServices services) {
        if (!hosts.isAgent(agent, host)) {
            return; // the job had released it, and may have the host again through another agent
        }
        workerProcesses
                .removeHost(host)
                .forEach(worker -> services.reportLoss(worker, Driver.HOST_LOST));
        hosts.remove(host, () -> {});
        decide(new DriverEvent.HostLost(host, reason), services);
    }

    private void started(WorkerProcess process, WorkerServices services) {
        workerProcesses.started(process);
        var _ = process.process().onExit().thenRun(() -> events.add(new Event.Exited(process)));
        explain("started " + process);
        if (terminationSequence.hasSignalled()) {
            process.kill(); // the signal was sent before it started
        }
        decide(
                new DriverEvent.WorkerStarted(process.worker().number(), process.process().pid()),
                services);
    }

    private void exited(WorkerProcess process, WorkerServices services) {
        if (!workerProcesses.ended(process)) {
            return; // its host was lost before
        }
        ExitStatus exitStatus = new ExitStatus(process.process().exitValue());
        if (exitStatus.failed() && driver.replacesFailedWorkers()) {
            process.kill(); // what is left of its process group
        }
        process.ended();
        Worker worker = process.worker();
        services.reportExit(worker, exitStatus.toString());
        decide(
                new DriverEvent.WorkerExited(
                        worker.number(), exitStatus.failed(), exitStatus.toString()),
                services);
    }

    private void interrupted(Signal signal, WorkerServices services) {
        interruption = signal;
        services.jobIsEnding();
        terminationSequence.signal(signal);
    }

    /// Processes normally end at once, and the last message says so.
    private void reportSlowEnd() {
        if (interruption != null
                && !isSlowEndReported
                && terminationSequence.elapsed().compareTo(SLOW_END) > 0) {
            isSlowEndReported = true;
            launcherConsole.printMessage(
                    "got %s, waiting for %s to end; a second signal kills what is left"
                            .formatted(
                                    interruption,
                                    MessageText.count(
                                            workerProcesses.running().size(), "process")));
        }
    }

    private void decide(DriverEvent driverEvent, WorkerServices services) {
        Duration now = Duration.ofNanos(System.nanoTime() - startedNanos);
        List<Worker> starting = new ArrayList<>();
        for (DriverAction driverAction : driver.handle(driverEvent, now)) {
            if (driverAction instanceof DriverAction.StartWorker(Worker worker)) {
                workerProcesses.starting(worker);
                starting.add(worker);
            } else {
                act(driverAction, services);
            }
        }
        hostTasks.start(starting, services);
    }

    private void act(DriverAction driverAction, WorkerServices services) {
        switch (driverAction) {
            case DriverAction.OpenHost(Host host) -> hostTasks.open(host);
            case DriverAction.ReleaseHost(String host) ->
                    hostTasks.release(host, workerProcesses.withOpenOutputOn(host));
            case DriverAction.StartWorker _ -> {} // collected by decide, to start them by host
            case DriverAction.StartGeneration startGeneration ->
                    startGeneration(startGeneration, services);
            case DriverAction.RequestReset() -> services.requestReset();
            case DriverAction.DismissWorker(Worker worker, String reason) -> {
                workerProcesses.find(worker).ifPresent(WorkerProcess::clearRank);
                services.dismiss(worker, reason);
            }
            case DriverAction.KillWorker(Worker worker) -> workerProcesses.kill(worker);
            case DriverAction.FailJob() -> terminationSequence.startGracePeriod();
            case DriverAction.AbortJob(String reason) -> {
                abortReason = reason;
                terminationSequence.signal(Signal.TERM);
            }
            case DriverAction.AbortStart(String reason) -> {
                startFailure = reason;
                terminationSequence.kill();
            }
            case DriverAction.Info(String text) -> launcherConsole.printMessage(text);
            case DriverAction.Verbose(String text) -> explain(text);
        }
    }

    private void startGeneration(
            DriverAction.StartGeneration startGeneration, WorkerServices services) {
        SequencedMap<Worker, Slot> slots = startGeneration.slots();
        workerProcesses.forgetEnded();
        slots.forEach(
                (worker, slot) ->
                        workerProcesses.find(worker).ifPresent(it -> it.setRank(slot.rank())));
        services.startGeneration(startGeneration.generation(), slots, startGeneration.sync());
        if (verbose) {
            launcherConsole.printMessage(
                    GenerationTable.of(startGeneration.generation(), slots, this::pid));
        }
    }

    private Optional<Long> pid(Worker worker) {
        return workerProcesses.find(worker).map(process -> process.process().pid());
    }

    /// Whether all processes did what they were started for. To be called after [#run].
    boolean succeeded() {
        return interruption == null
                && abortReason == null
                && startFailure == null
                && driver.failure().isEmpty();
    }

    /// Waits until all output of the job is written. To be called after [#run].
    void awaitOutput() throws InterruptedException {
        workerProcesses.awaitOutput();
    }

    /// Ends processes that the job left behind, and reports how it went.
    ///
    /// @return the exit code of the launcher
    /// @throws IOException when a process could not be started
    int conclude() throws IOException, InterruptedException {
        sweep();
        awaitOutput();
        for (WorkerProcess process : workerProcesses.running()) {
            launcherConsole.printMessage(
                    "%s did not exit after SIGKILL; giving up".formatted(process));
        }
        if (startFailure != null) {
            throw new IOException(startFailure);
        }
        if (interruption != null) {
            launcherConsole.printMessage(
                    "ended by %s after %s"
                            .formatted(interruption, DurationFormat.roundedSeconds(shutdownTime)));
            return 128 + interruption.number();
        }
        if (!succeeded()) {
            launcherConsole.printMessage(failureReport().toString());
            return HorovodRun.FAILURE;
        }
        return 0;
    }

    /// Ends processes that the workers left behind. After a signal that is reported only if
    /// `--verbose` is given: such processes may just take a moment longer to exit.
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

    private FailureReport failureReport() {
        boolean othersEnded = abortReason == null && workerProcesses.startedCount() > 1;
        return new FailureReport(
                abortReason,
                driver.failure().map(this::firstFailure).orElse(null),
                othersEnded && terminationSequence.hasStarted() ? shutdownTime : null);
    }

    private FailureReport.FirstFailure firstFailure(Driver.Failure failure) {
        return new FailureReport.FirstFailure(
                failure.name(), failure.reason(), workerProcesses.lastErrors(failure.worker()));
    }

    private void explain(String step) {
        if (verbose) {
            launcherConsole.printMessage(step);
        }
    }
}
