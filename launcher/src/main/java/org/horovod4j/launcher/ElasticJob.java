package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.elastic.desk.Place;
import org.horovod4j.elastic.desk.WorkerDesk;
import org.horovod4j.launcher.elastic.Action;
import org.horovod4j.launcher.elastic.Event;
import org.horovod4j.launcher.elastic.Membership;
import org.horovod4j.launcher.elastic.Worker;
import org.horovod4j.launcher.output.Console;
import org.horovod4j.launcher.output.Forwarding;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.process.Ending;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.Signal;
import org.horovod4j.launcher.remote.HostNotReadyException;
import org.horovod4j.rendezvous.RendezvousServer;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/// The workers of an elastic job, from the first start to the last end: does what [Membership] decides.
///
/// Whatever happens arrives as [News] in one queue, and the thread in [#run] alone acts on it. What may
/// take long, getting a host ready and starting a process there, has a thread of its own each time,
/// which ends in news.
final class ElasticJob implements WorkerDesk.Listener {
    /// How often time is noticed to pass.
    private static final Duration TICK = Duration.ofMillis(200);

    private sealed interface News {}

    private record Happened(Event event) implements News {}

    private record Started(WorkerProcess process) implements News {}

    private record NotStarted(Worker worker, String reason) implements News {}

    private record Exited(WorkerProcess process, Ending ending) implements News {}

    private record Interrupted(Signal signal) implements News {}

    /// Where workers meet and ask for places.
    ///
    /// @param variables what a worker needs to find both
    record Places(RendezvousServer rendezvous, WorkerDesk desk, Variables variables) {}

    /// The variables of a worker.
    interface Variables {
        Map<String, String> of(Worker worker, boolean remote);
    }

    private final Membership membership;
    private final ElasticHosts hosts;
    private final Forwarding forwarding;
    private final Console console;
    private final boolean verbose;
    private final Stopping stopping;
    private final long startedNanos = System.nanoTime();
    private final BlockingQueue<News> news = new LinkedBlockingQueue<>();
    private final Map<Integer, WorkerProcess> running = new TreeMap<>();
    private final Set<Integer> starting = new HashSet<>();
    private final Set<Integer> doomed = new HashSet<>();
    private final List<WorkerProcess> talking = new ArrayList<>();
    private final Map<Integer, Integer> ranks = new HashMap<>();
    private int generation = -1;
    private long stamp;
    private Duration took = Duration.ZERO;
    private @Nullable WorkerProcess culprit;
    private @Nullable String verdict;
    private @Nullable Signal interruption;

    ElasticJob(Membership membership, ElasticHosts hosts, Forwarding forwarding, boolean verbose) {
        this.membership = membership;
        this.hosts = hosts;
        this.forwarding = forwarding;
        this.console = forwarding.console();
        this.verbose = verbose;
        this.stopping = new Stopping(hosts::signal);
    }

    /// Tells of hosts that were found. May be called from any thread.
    void found(List<Host> found) {
        news.add(new Happened(new Event.Listed(found)));
    }

    @Override
    public void ready(int worker, int from, String why) {
        news.add(new Happened(new Event.Ready(worker, from, why)));
    }

    @Override
    public void lost(int worker, String how) {
        news.add(new Happened(new Event.Silent(worker, how)));
    }

    /// Passes a signal of the launcher's own on to the job. May be called from any thread.
    void interrupt(Signal signal) {
        news.add(new Interrupted(signal));
    }

    /// Runs the job until no worker is left.
    void run(Places places) throws InterruptedException {
        while (!isOver()) {
            Duration wait = stopping.timeLeft();
            boolean isTicking = wait.compareTo(TICK) > 0;
            switch (news.poll((isTicking ? TICK : wait).toNanos(), TimeUnit.NANOSECONDS)) {
                case Happened(Event event) -> happened(event, places);
                case Started(WorkerProcess process) -> started(process);
                case NotStarted(Worker worker, String reason) -> notStarted(worker, reason, places);
                case Exited(WorkerProcess process, Ending ending) ->
                        exited(process, ending, places);
                case Interrupted(Signal signal) -> interrupted(signal);
                case null -> {
                    if (isTicking) {
                        decide(new Event.Passed(), places);
                    } else {
                        stopping.escalate();
                        explain("%s: %s".formatted(stopping, running.values()));
                    }
                }
            }
        }
        took = stopping.elapsed();
    }

    private boolean isOver() {
        return stopping.hasBegun()
                ? (running.isEmpty() && starting.isEmpty()) || stopping.hasGivenUp()
                : membership.isOver() && running.isEmpty() && starting.isEmpty();
    }

    private void happened(Event event, Places places) {
        if (event instanceof Event.HostLost(String host, String _)) {
            hostLost(host, places);
        }
        decide(event, places);
    }

    /// Its processes end by themselves, unseen.
    private void hostLost(String host, Places places) {
        List<WorkerProcess> gone =
                running.values().stream()
                        .filter(process -> process.worker().host().equals(host))
                        .toList();
        for (WorkerProcess process : gone) {
            int number = process.worker().number();
            running.remove(number);
            rank(number)
                    .ifPresent(
                            rank ->
                                    places.rendezvous.reportLoss(
                                            generation, rank, "contact with its host was lost"));
        }
        hosts.remove(host, () -> {});
    }

    private void started(WorkerProcess process) {
        int number = process.worker().number();
        starting.remove(number);
        running.put(number, process);
        forgetSilent();
        talking.add(process);
        var _ =
                process.process()
                        .onExit()
                        .thenAccept(
                                it -> news.add(new Exited(process, new Ending(it.exitValue()))));
        explain("started " + process);
        if (doomed.remove(number) || stopping.hasSignalled()) {
            process.kill();
        }
    }

    /// Lets go of processes that have ended and said all, so that a long job does not run out of files.
    private void forgetSilent() {
        List<WorkerProcess> silent = talking.stream().filter(WorkerProcess::hasPrintedAll).toList();
        silent.forEach(WorkerProcess::closeFiles);
        talking.removeAll(silent);
    }

    private void notStarted(Worker worker, String reason, Places places) {
        starting.remove(worker.number());
        doomed.remove(worker.number());
        decide(new Event.Ended(worker.number(), true, "it cannot be started: " + reason), places);
    }

    private void exited(WorkerProcess process, Ending ending, Places places) {
        Worker worker = process.worker();
        if (running.remove(worker.number()) == null) {
            return; // its host was lost before
        }
        if (ending.failed()) {
            process.kill(); // and with it what it started, which may hold a device
        }
        process.ended();
        rank(worker.number())
                .ifPresent(
                        rank -> places.rendezvous.reportExit(generation, rank, ending.toString()));
        decide(new Event.Ended(worker.number(), ending.failed(), ending.toString()), places);
        if (membership.failure().filter(it -> it.worker().equals(worker)).isPresent()) {
            culprit = process;
        }
    }

    private Optional<Integer> rank(int worker) {
        return Optional.ofNullable(ranks.get(worker));
    }

    private void interrupted(Signal signal) {
        interruption = signal;
        stopping.ask(signal); // before it is told, as a console may be stopped by its user
        console.say("got %s, ending %d processes".formatted(signal, running.size()));
    }

    private void decide(Event event, Places places) {
        if (stopping.hasBegun()) {
            return; // there is nothing more to decide
        }
        Duration now = Duration.ofNanos(System.nanoTime() - startedNanos);
        for (Action action : membership.on(event, now)) {
            act(action, places);
        }
    }

    private void act(Action action, Places places) {
        switch (action) {
            case Action.Open(Host host) -> beside(() -> open(host));
            case Action.Release(String host) -> release(host);
            case Action.Start(Worker worker) -> {
                starting.add(worker.number());
                beside(() -> start(worker, places.variables));
            }
            case Action.Form(int number, SequencedMap<Worker, Slot> slots, boolean sync) ->
                    form(number, slots, sync, places);
            case Action.CallBack() -> places.desk.hostsUpdated(++stamp);
            case Action.Dismiss(Worker worker, String reason) -> {
                Optional.ofNullable(running.get(worker.number())).ifPresent(WorkerProcess::leaves);
                places.desk.dismiss(worker.number(), reason);
            }
            case Action.Kill(Worker worker) -> kill(worker);
            case Action.GiveUp(String reason) -> {
                verdict = reason;
                stopping.ask(Signal.TERM);
            }
            case Action.Say(String text) -> console.say(text);
            case Action.Explain(String text) -> explain(text);
        }
    }

    /// Once the last lines of its workers are here.
    private void release(String host) {
        List<WorkerProcess> last =
                talking.stream().filter(process -> process.worker().host().equals(host)).toList();
        hosts.remove(
                host,
                () -> {
                    try {
                        for (WorkerProcess process : last) {
                            process.awaitOutput();
                        }
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt(); // nobody does; the host goes anyway
                    }
                });
    }

    private static void beside(Runnable work) {
        Thread.ofPlatform().daemon().name("hvd-host").start(work);
    }

    private void open(Host host) {
        try {
            HostAgent agent = hosts.add(host);
            news.add(new Happened(new Event.HostOpened(host.name())));
            agent.onLoss(reason -> news.add(new Happened(new Event.HostLost(host.name(), reason))));
        } catch (HostNotReadyException | IOException | RuntimeException e) {
            news.add(new Happened(new Event.HostRefused(host.name(), reason(e))));
        }
    }

    private void start(Worker worker, Variables variables) {
        try {
            ElasticHosts.Ready host =
                    hosts.find(worker.host())
                            .orElseThrow(() -> new IOException("its host is gone"));
            Process process =
                    host.agent()
                            .start(
                                    host.program().command(worker.number()),
                                    variables.of(worker, host.isRemote()));
            news.add(
                    new Started(
                            new WorkerProcess(
                                    worker,
                                    host.agent(),
                                    process,
                                    forwarding,
                                    host.program().unwantedLine())));
        } catch (IOException | RuntimeException e) {
            news.add(new NotStarted(worker, reason(e)));
        }
    }

    /// Whatever went wrong on a thread beside must become news, or its worker would start for ever. What
    /// nobody foresaw is named by its type too.
    private static String reason(Exception e) {
        return e instanceof RuntimeException && !(e instanceof ConfigurationException)
                ? e.toString()
                : String.valueOf(e.getMessage());
    }

    private void form(int number, SequencedMap<Worker, Slot> slots, boolean sync, Places places) {
        generation = number;
        ranks.clear();
        places.rendezvous.expect(number, slots.size());
        slots.forEach(
                (worker, slot) -> {
                    ranks.put(worker.number(), slot.rank());
                    WorkerProcess process = running.get(worker.number());
                    if (process != null) {
                        process.becomes(slot.rank());
                    }
                    places.desk.assign(worker.number(), place(number, slot, sync));
                });
        explain(table(slots));
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

    private String table(SequencedMap<Worker, Slot> slots) {
        StringBuilder table =
                new StringBuilder(row("rank", "worker", "local", "cross", "process", "host"));
        slots.forEach(
                (worker, slot) -> {
                    WorkerProcess process = running.get(worker.number());
                    table.append(
                            row(
                                    Integer.toString(slot.rank()),
                                    Integer.toString(worker.number()),
                                    "%d of %d".formatted(slot.localRank(), slot.localSize()),
                                    "%d of %d".formatted(slot.crossRank(), slot.crossSize()),
                                    process == null ? "?" : Long.toString(process.process().pid()),
                                    worker.host()));
                });
        return "the places of generation %d:%s".formatted(generation, table);
    }

    private static String row(Object... cells) {
        return String.format(Locale.ROOT, "%n  %4s  %6s  %7s  %7s  %8s  %s", cells);
    }

    private void kill(Worker worker) {
        WorkerProcess process = running.get(worker.number());
        if (process != null) {
            process.kill();
        } else if (starting.contains(worker.number())) {
            doomed.add(worker.number());
        }
    }

    /// Whether the job did what it was started for.
    boolean wentWell() {
        return interruption == null && verdict == null && membership.failure().isEmpty();
    }

    /// Ends what is left of the job, and says how it went.
    ///
    /// @return the exit code of the launcher
    int conclude() throws IOException, InterruptedException {
        sweep();
        for (WorkerProcess process : talking) {
            process.awaitOutput();
        }
        for (WorkerProcess process : running.values()) {
            console.say("gave up on %s, which does not even end by SIGKILL".formatted(process));
        }
        if (interruption != null) {
            console.say(
                    "ended by %s after %s s"
                            .formatted(
                                    interruption,
                                    String.format(Locale.ROOT, "%.1f", took.toMillis() / 1e3)));
            return 128 + interruption.number();
        }
        if (!wentWell()) {
            console.say(report());
            return HorovodRun.FAILURE;
        }
        return 0;
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

    private String report() {
        StringBuilder text = new StringBuilder("the job failed");
        if (verdict != null) {
            text.append(": ").append(verdict);
        }
        text.append('.');
        membership
                .failure()
                .ifPresent(
                        first ->
                                text.append(
                                        " First to fail was %s: %s."
                                                .formatted(first.worker(), first.how())));
        List<String> errors =
                membership.failure().map(first -> lastErrors(first.worker())).orElse(List.of());
        if (!errors.isEmpty()) {
            text.append("\n  Its last lines on standard error:");
            errors.forEach(line -> text.append("\n    ").append(line));
        }
        return text.toString();
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
