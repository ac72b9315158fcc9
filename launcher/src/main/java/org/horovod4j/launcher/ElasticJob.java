package org.horovod4j.launcher;

import org.horovod4j.elastic.desk.Place;
import org.horovod4j.elastic.desk.WorkerDesk;
import org.horovod4j.launcher.elastic.Action;
import org.horovod4j.launcher.elastic.Driver;
import org.horovod4j.launcher.elastic.Event;
import org.horovod4j.launcher.elastic.Worker;
import org.horovod4j.launcher.output.Console;
import org.horovod4j.launcher.output.Forwarding;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.process.Ending;
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

/// An elastic job, from the first start to the last end: does what the [Driver] decides.
///
/// Whatever happens arrives as [ElasticNews] in one queue, and the thread in [#run] alone acts on
/// it. What may take long is left to [Errands], which end in news.
final class ElasticJob implements WorkerDesk.Listener {
    /// How often time is noticed to pass.
    private static final Duration TICK = Duration.ofMillis(200);

    /// Where workers are received: they ask for places at the desk, and meet at the rendezvous.
    ///
    /// @param variables what a worker needs to find both
    record Reception(RendezvousServer rendezvous, WorkerDesk desk, Errands.Variables variables) {}

    private final Driver driver;
    private final ElasticHosts hosts;
    private final Errands errands;
    private final Console console;
    private final boolean verbose;
    private final Stopping stopping;
    private final long startedNanos = System.nanoTime();
    private final BlockingQueue<ElasticNews> news = new LinkedBlockingQueue<>();
    private final Crew crew = new Crew();
    private final Map<Integer, Integer> ranks = new HashMap<>();
    private int generation = -1;
    private long stamp;
    private Duration took = Duration.ZERO;
    private @Nullable WorkerProcess culprit;
    private @Nullable String verdict;
    private @Nullable Signal interruption;

    ElasticJob(Driver driver, ElasticHosts hosts, Forwarding forwarding, boolean verbose) {
        this.driver = driver;
        this.hosts = hosts;
        this.errands = new Errands(hosts, forwarding, news::add);
        this.console = forwarding.console();
        this.verbose = verbose;
        this.stopping = new Stopping(hosts::signal);
    }

    /// Tells of hosts that were found. May be called from any thread.
    void found(List<Host> found) {
        news.add(new ElasticNews.Happened(new Event.Listed(found)));
    }

    @Override
    public void ready(int worker, int from, String why) {
        news.add(new ElasticNews.Happened(new Event.Ready(worker, from, why)));
    }

    @Override
    public void lost(int worker, String how) {
        news.add(new ElasticNews.Happened(new Event.Silent(worker, how)));
    }

    /// Passes a signal of the launcher's own on to the job. May be called from any thread.
    void interrupt(Signal signal) {
        news.add(new ElasticNews.Interrupted(signal));
    }

    /// Runs the job until no worker is left.
    void run(Reception reception) throws InterruptedException {
        while (!isOver()) {
            Duration wait = stopping.timeLeft();
            boolean isTicking = wait.compareTo(TICK) > 0;
            switch (news.poll((isTicking ? TICK : wait).toNanos(), TimeUnit.NANOSECONDS)) {
                case ElasticNews.Happened(Event event) -> decide(event, reception);
                case ElasticNews.HostLost(String host, HostAgent agent, String reason) ->
                        hostLost(host, agent, reason, reception);
                case ElasticNews.Started(WorkerProcess process) -> started(process);
                case ElasticNews.NotStarted(Worker worker, String reason) ->
                        notStarted(worker, reason, reception);
                case ElasticNews.Exited(WorkerProcess process, Ending ending) ->
                        exited(process, ending, reception);
                case ElasticNews.Interrupted(Signal signal) -> interrupted(signal);
                case null -> {
                    if (isTicking) {
                        decide(new Event.Passed(), reception);
                    } else {
                        stopping.escalate();
                        explain("%s: %s".formatted(stopping, crew.running()));
                    }
                }
            }
        }
        took = stopping.elapsed();
    }

    private boolean isOver() {
        return stopping.hasBegun()
                ? crew.isGone() || stopping.hasGivenUp()
                : driver.isOver() && crew.isGone();
    }

    private void hostLost(String host, HostAgent agent, String reason, Reception reception) {
        if (!hosts.isAgent(agent, host)) {
            return; // the job had let go of it, and may have the host again through another
        }
        for (Worker worker : crew.lose(host)) {
            rank(worker)
                    .ifPresent(
                            rank ->
                                    reception.rendezvous.reportLoss(
                                            generation, rank, "contact with its host was lost"));
        }
        hosts.remove(host, () -> {});
        decide(new Event.HostLost(host, reason), reception);
    }

    private void started(WorkerProcess process) {
        crew.started(process);
        var _ =
                process.process()
                        .onExit()
                        .thenAccept(
                                it ->
                                        news.add(
                                                new ElasticNews.Exited(
                                                        process, new Ending(it.exitValue()))));
        explain("started " + process);
        if (stopping.hasSignalled()) {
            process.kill(); // the signal came too early for it
        }
    }

    private void notStarted(Worker worker, String reason, Reception reception) {
        crew.notStarted(worker);
        decide(
                new Event.Ended(worker.number(), true, "it cannot be started: " + reason),
                reception);
    }

    private void exited(WorkerProcess process, Ending ending, Reception reception) {
        if (!crew.ended(process)) {
            return; // its host was lost before
        }
        if (ending.failed()) {
            process.kill(); // and with it what it started, which may hold a device
        }
        process.ended();
        Worker worker = process.worker();
        rank(worker)
                .ifPresent(
                        rank ->
                                reception.rendezvous.reportExit(
                                        generation, rank, ending.toString()));
        decide(new Event.Ended(worker.number(), ending.failed(), ending.toString()), reception);
        if (driver.failure().filter(it -> it.worker().equals(worker)).isPresent()) {
            culprit = process;
        }
    }

    private Optional<Integer> rank(Worker worker) {
        return Optional.ofNullable(ranks.get(worker.number()));
    }

    private void interrupted(Signal signal) {
        interruption = signal;
        stopping.ask(signal); // before it is told, as a console may be stopped by its user
        console.say("got %s, ending %d processes".formatted(signal, crew.running().size()));
    }

    private void decide(Event event, Reception reception) {
        if (stopping.hasBegun()) {
            return; // there is nothing more to decide
        }
        Duration now = Duration.ofNanos(System.nanoTime() - startedNanos);
        for (Action action : driver.on(event, now)) {
            act(action, reception);
        }
    }

    private void act(Action action, Reception reception) {
        switch (action) {
            case Action.Open(Host host) -> errands.open(host);
            case Action.Release(String host) -> errands.release(host, crew.talkingOn(host));
            case Action.Start(Worker worker) -> {
                crew.starting(worker);
                errands.start(worker, reception.variables);
            }
            case Action.Form(int number, SequencedMap<Worker, Slot> slots, boolean sync) ->
                    form(number, slots, sync, reception);
            case Action.CallBack() -> reception.desk.hostsUpdated(++stamp);
            case Action.Dismiss(Worker worker, String reason) -> {
                crew.find(worker).ifPresent(WorkerProcess::leaves);
                reception.desk.dismiss(worker.number(), reason);
            }
            case Action.Kill(Worker worker) -> crew.kill(worker);
            case Action.GiveUp(String reason) -> {
                verdict = reason;
                stopping.ask(Signal.TERM);
            }
            case Action.Say(String text) -> console.say(text);
            case Action.Explain(String text) -> explain(text);
        }
    }

    private void form(
            int number, SequencedMap<Worker, Slot> slots, boolean sync, Reception reception) {
        generation = number;
        ranks.clear();
        reception.rendezvous.expect(number, slots.size());
        slots.forEach(
                (worker, slot) -> {
                    ranks.put(worker.number(), slot.rank());
                    crew.find(worker).ifPresent(process -> process.becomes(slot.rank()));
                    reception.desk.assign(worker.number(), place(number, slot, sync));
                });
        if (verbose) {
            console.say(GenerationTable.of(number, slots, this::pid));
        }
    }

    private static Place place(int generation, Slot slot, boolean sync) {
        return new Place(
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
        return crew.find(worker).map(process -> process.process().pid());
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
        crew.awaitOutput();
        for (WorkerProcess process : crew.running()) {
            console.say("gave up on %s, which does not even end by SIGKILL".formatted(process));
        }
        ElasticOutcome outcome = outcome();
        if (!outcome.text().isEmpty()) {
            console.say(outcome.text());
        }
        return outcome.exitCode();
    }

    private void sweep() throws IOException, InterruptedException {
        for (String left : hosts.sweep()) {
            String message = "ended a process that the job had left behind: " + left;
            if (stopping.hasSignalled()) {
                explain(message);
            } else {
                console.say(message);
            }
        }
    }

    /// Complete once all output is there.
    private ElasticOutcome outcome() {
        if (interruption != null) {
            return new ElasticOutcome.Interrupted(interruption, took);
        }
        Optional<Driver.Failure> first = driver.failure();
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
            console.say(step);
        }
    }
}
