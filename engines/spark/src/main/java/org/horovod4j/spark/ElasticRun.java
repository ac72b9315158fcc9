package org.horovod4j.spark;

import org.horovod4j.elastic.registry.WorkerPlacement;
import org.horovod4j.elastic.registry.WorkerRegistry;
import org.horovod4j.launcher.LaunchException;
import org.horovod4j.launcher.driver.Cooldown;
import org.horovod4j.launcher.driver.DriverAction;
import org.horovod4j.launcher.driver.DriverEvent;
import org.horovod4j.launcher.driver.ElasticDriver;
import org.horovod4j.launcher.driver.ElasticLimits;
import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.function.FunctionFailure;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.log.Log;
import org.horovod4j.option.ElasticOptions;
import org.horovod4j.rendezvous.MembershipListener;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.security.Secret;
import org.horovod4j.spark.TaskServer.ConnectedTask;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/// An elastic job on the driver.
///
/// Each slot of the job is a [WorkerSlot]: a Spark job of one task, which waits for workers to run.
/// [WorkerSlots] submits them. The [ElasticDriver], which is that of `horovodrun`, decides which
/// workers run where and who is in a generation. Its hosts are the machines of the worker slots.
///
/// As in the launcher, all events go through one queue to one thread.
final class ElasticRun implements TaskServer.Listener, WorkerRegistry.Listener {
    private static final Logger LOGGER = Log.of(ElasticRun.class);
    private static final Duration TICK = Duration.ofMillis(100);

    /// How long a Spark job may take to end after its task was killed.
    private static final Duration CANCELLATION_TIMEOUT = Duration.ofSeconds(1);

    /// How long tasks may take to end when the job has ended.
    private static final Duration END_TIMEOUT = Duration.ofSeconds(30);

    private sealed interface Event {
        record ForDriver(DriverEvent event) implements Event {}

        record Registered(ConnectedTask task) implements Event {}

        record WorkerEnded(int index, TaskMessage.FromTask how) implements Event {}

        record Disconnected(int index, String reason) implements Event {}
    }

    private final RunSettings settings;
    private final ElasticLimits limits;
    private final RankBody.OfWorker body;
    private final ElasticDriver driver;
    private final long startedNanos = System.nanoTime();
    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();

    /// Workers that wait for a worker slot on their slot.
    private final List<Worker> waiting = new ArrayList<>();

    private final Map<Integer, String> labels = new ConcurrentHashMap<>();
    private final Map<Worker, Integer> ranks = new LinkedHashMap<>();
    private final SampleRate sampleRate = new SampleRate();
    private int generation;
    private long hostsVersion;
    private @Nullable String abortReason;
    private @Nullable FunctionFailure lastFailure;
    private @Nullable Servers servers;

    /// What the workers connect to, and where they run.
    private record Servers(
            RendezvousServer rendezvous, WorkerRegistry registry, WorkerSlots slots) {}

    ElasticRun(
            RunSettings settings, ElasticLimits limits, Cooldown cooldown, RankBody.OfWorker body) {
        this.settings = settings;
        this.limits = limits;
        this.body = body;
        this.driver = new ElasticDriver(limits, settings.job().elasticTimeout(), cooldown);
    }

    /// Runs the job to its end.
    ///
    /// @return what the function returned on the workers of the last generation, by rank
    List<@Nullable Object> run() {
        ElasticConf.check(settings, limits.maxWorkers());
        Secret ticket = DriverTicket.newTicket();
        Secret secret = settings.job().secret();
        Duration heartbeat = settings.job().heartbeatTimeout();
        settings.spark().register(sampleRate, HvdSpark.SAMPLES);
        try (RendezvousServer rendezvous =
                        RendezvousServer.startElastic(
                                secret,
                                List.of(settings.bind(0)),
                                heartbeat,
                                settings.job().startTimeout(),
                                MembershipListener.NONE);
                TaskServer tasks =
                        new TaskServer(
                                DriverTicket.connectionSecret(ticket),
                                settings.bind(1),
                                heartbeat,
                                0,
                                this);
                WorkerRegistry registry =
                        WorkerRegistry.open(secret, List.of(settings.bind(2)), heartbeat, this)) {
            servers =
                    new Servers(
                            rendezvous,
                            registry,
                            new WorkerSlots(
                                    settings,
                                    body,
                                    sampleRate,
                                    tasks,
                                    ticket,
                                    limits.maxWorkers()));
            try {
                handleEvents();
                if (abortReason != null || driver.failure().isPresent()) {
                    throw slots().cancellation(CANCELLATION_TIMEOUT)
                            .map(LaunchException::new)
                            .orElseGet(this::failure);
                }
                return slots().results();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new LaunchException(
                        "the thread that launched the job was interrupted; its tasks are ended", e);
            } finally {
                end(tasks);
            }
        }
    }

    private Servers servers() {
        if (servers == null) {
            throw new IllegalStateException("the job has not started");
        }
        return servers;
    }

    private WorkerSlots slots() {
        return servers().slots;
    }

    private Duration now() {
        return Duration.ofNanos(System.nanoTime() - startedNanos);
    }

    private void handleEvents() throws InterruptedException {
        slots().fill(now()).ifPresent(this::abort);
        decide(new DriverEvent.JobStarted());
        Duration nextCheck = now().plus(TICK);
        while (abortReason == null && !driver.isOver()) {
            long left = nextCheck.minus(now()).toNanos();
            if (left <= 0) { // also while one event follows the other
                checkSlots();
                nextCheck = now().plus(TICK);
                continue;
            }
            switch (events.poll(left, TimeUnit.NANOSECONDS)) {
                case Event.ForDriver(DriverEvent driverEvent) -> decide(driverEvent);
                case Event.Registered(ConnectedTask task) -> registered(task, now());
                case Event.WorkerEnded(int index, var how) -> workerEnded(index, how);
                case Event.Disconnected(int index, String reason) -> slotGone(index, reason);
                case null -> {}
            }
        }
    }

    // Worker slots

    private void checkSlots() throws InterruptedException {
        Duration now = now();
        slots().fill(now).ifPresent(this::abort);
        if (slots().canReplace(now)) {
            giveUpLostSlots();
        }
        decide(new DriverEvent.TimePassed());
    }

    private void registered(ConnectedTask task, Duration now) {
        if (slots().connected(task, now)) {
            listHosts();
            startWaiting();
        }
    }

    private void slotGone(int index, String reason) {
        WorkerSlot slot = slots().disconnected(index, now());
        if (slot == null) {
            return;
        }
        Worker worker = slot.workerEnded(now());
        if (worker != null) {
            // If only its task has ended, it may still wait for a rank.
            servers().registry.dismiss(worker.number(), "its task has ended");
            workerGone(worker, true, "its executor or task is lost: " + reason);
        }
        listHosts();
    }

    private void listHosts() {
        slots().changedHosts(waiting)
                .ifPresent(hosts -> decide(new DriverEvent.HostsDiscovered(hosts)));
    }

    /// Spark has started an executor elsewhere: workers that wait for a slot that is gone do not
    /// wait any longer.
    private void giveUpLostSlots() {
        List<Worker> lost = waiting.stream().filter(worker -> !slots().hasHostOf(worker)).toList();
        waiting.removeAll(lost);
        listHosts();
        lost.forEach(worker -> workerGone(worker, true, "its executor is gone"));
    }

    // Workers

    private void startWaiting() {
        for (Worker worker : List.copyOf(waiting)) {
            if (startOn(worker)) {
                waiting.remove(worker);
            }
        }
    }

    private boolean startOn(Worker worker) {
        Optional<WorkerSlot> slot = slots().idle(worker);
        slot.ifPresent(
                it -> {
                    labels.put(it.index(), "worker " + worker.number());
                    it.start(
                            worker,
                            new TaskMessage.Start(worker.number(), true, settingsOf(worker)));
                });
        return slot.isPresent();
    }

    private Map<String, String> settingsOf(Worker worker) {
        Servers open = servers();
        Map<String, String> own =
                settings.common(worker.host(), open.rendezvous.address().getPort());
        RunSettings.put(own, ElasticOptions.ELASTIC, true);
        RunSettings.put(own, ElasticOptions.WORKER, worker.number());
        RunSettings.put(own, ElasticOptions.PORT, open.registry.address().getPort());
        return own;
    }

    private void workerEnded(int index, TaskMessage.FromTask how) {
        WorkerSlot slot = slots().find(index).orElse(null);
        Worker worker = slot == null ? null : slot.workerEnded(now());
        if (slot == null || worker == null) {
            return;
        }
        labels.remove(index);
        if (how instanceof TaskMessage.Threw(FunctionFailure failure)) {
            lastFailure = failure;
            workerGone(worker, true, "its function threw " + failure.thrown().text());
        } else {
            if (ranks.containsKey(worker)) { // else the job had dismissed it
                slot.resultKept();
            }
            workerGone(worker, false, "its function returned");
        }
    }

    private void workerGone(Worker worker, boolean failed, String how) {
        Integer rank = ranks.remove(worker);
        if (rank != null) {
            servers().rendezvous.reportExit(generation, rank, how);
        }
        decide(new DriverEvent.WorkerExited(worker.number(), failed, how));
    }

    // Decisions

    private void decide(DriverEvent driverEvent) {
        for (DriverAction action : driver.handle(driverEvent, now())) {
            act(action);
        }
    }

    private void act(DriverAction action) {
        switch (action) {
            case DriverAction.OpenHost(Host host) ->
                    notifyDriver(new DriverEvent.HostOpened(host.name()));
            case DriverAction.ReleaseHost _ -> {}
            case DriverAction.StartWorker(Worker worker) -> {
                if (!startOn(worker)) {
                    waiting.add(worker);
                }
            }
            case DriverAction.StartGeneration start -> startGeneration(start);
            case DriverAction.RequestReset() -> servers().registry.hostsUpdated(++hostsVersion);
            case DriverAction.DismissWorker(Worker worker, String reason) ->
                    servers().registry.dismiss(worker.number(), reason);
            case DriverAction.KillWorker(Worker worker) -> kill(worker);
            case DriverAction.FailJob() -> abort("a worker has failed");
            case DriverAction.AbortJob(String reason) -> abort(reason);
            case DriverAction.AbortStart(String reason) -> abort(reason);
            case DriverAction.Info(String text) -> settings.printMessage(text);
            case DriverAction.Verbose(String text) -> LOGGER.log(Level.DEBUG, text);
        }
    }

    private void abort(String reason) {
        if (abortReason == null) {
            abortReason = reason;
        }
    }

    private void kill(Worker worker) {
        if (waiting.remove(worker)) {
            notifyDriver(
                    new DriverEvent.WorkerExited(worker.number(), false, "it was not started"));
        }
        slots().running(worker).ifPresent(slot -> slot.stop("the job has ended its worker"));
    }

    private void startGeneration(DriverAction.StartGeneration start) {
        Servers open = servers();
        generation = start.generation();
        ranks.clear();
        open.rendezvous.beginGeneration(generation, start.slots().size());
        start.slots()
                .forEach(
                        (worker, slot) -> {
                            ranks.put(worker, slot.rank());
                            label(worker, slot);
                            open.registry.assign(worker.number(), placement(start, slot));
                        });
    }

    private void label(Worker worker, Slot slot) {
        slots().running(worker)
                .ifPresent(it -> labels.put(it.index(), Integer.toString(slot.rank())));
    }

    private static WorkerPlacement placement(DriverAction.StartGeneration start, Slot slot) {
        return new WorkerPlacement(
                start.generation(),
                slot.rank(),
                slot.size(),
                slot.localRank(),
                slot.localSize(),
                slot.crossRank(),
                slot.crossSize(),
                start.sync());
    }

    // The end

    private LaunchException failure() {
        String message =
                abortReason != null
                        ? "the job cannot continue: " + abortReason
                        : driver.failure()
                                .map(it -> it.name() + " failed: " + it.reason())
                                .orElse("the job failed");
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        return new LaunchException(
                message,
                lastFailure == null
                        ? null
                        : lastFailure
                                .thrown()
                                .restore(
                                        loader == null
                                                ? ElasticRun.class.getClassLoader()
                                                : loader));
    }

    private void end(TaskServer tasks) {
        slots().cancel();
        boolean interrupted = Thread.interrupted();
        try {
            tasks.awaitDisconnects(END_TIMEOUT);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    // Events of other threads

    private void notifyDriver(DriverEvent driverEvent) {
        events.add(new Event.ForDriver(driverEvent));
    }

    @Override
    public void ready(int worker, int stateGeneration, String failure) {
        notifyDriver(new DriverEvent.WorkerReady(worker, stateGeneration, failure));
    }

    @Override
    public void lost(int worker, String reason) {
        notifyDriver(new DriverEvent.WorkerUnresponsive(worker, reason));
    }

    @Override
    public void registered(ConnectedTask task) {
        events.add(new Event.Registered(task));
    }

    @Override
    public void printed(ConnectedTask task, boolean isError, String line) {
        settings.print(labels.getOrDefault(task.hello().index(), "worker"), isError, line);
    }

    @Override
    public void ended(ConnectedTask task, TaskMessage.FromTask how) {
        events.add(new Event.WorkerEnded(task.hello().index(), how));
    }

    @Override
    public void disconnected(ConnectedTask task, String reason) {
        events.add(new Event.Disconnected(task.hello().index(), reason));
    }
}
