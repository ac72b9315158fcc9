package org.horovod4j.spark;

import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaSparkContext;
import org.horovod4j.ConfigurationException;
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
import org.horovod4j.spark.RankRunner.Result;
import org.horovod4j.spark.TaskServer.ConnectedTask;
import org.jspecify.annotations.Nullable;

import scala.reflect.ClassTag$;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/// An elastic job on the driver.
///
/// Each slot of the job is an [WorkerSlot]: a Spark job of one task, which waits for workers to run. A lost
/// executor loses its worker slots, and the driver submits others, which Spark starts as soon as it has a
/// slot. The [ElasticDriver], which is that of `horovodrun`, decides which workers run where and who
/// is in a generation. Its hosts are the machines of the worker slots.
///
/// As in the launcher, all events go through one queue to one thread.
final class ElasticRun implements TaskServer.Listener, WorkerRegistry.Listener {
    private static final Logger LOGGER = Log.of(ElasticRun.class);
    private static final Duration TICK = Duration.ofMillis(100);

    /// After this time without a worker, a worker slot is one that the driver does not want: its host is
    /// blacklisted.
    private static final Duration UNUSED = Duration.ofSeconds(5);

    /// How long a worker slot elsewhere waits before it takes the place of one that is gone.
    private static final Duration REPLACEMENT_DELAY = Duration.ofSeconds(1);

    /// How long worker slots may take to return their results.
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
    private final SequencedMap<Integer, WorkerSlot> workerSlots = new TreeMap<>();

    /// Workers that wait for a worker slot on their slot.
    private final List<Worker> waiting = new ArrayList<>();

    private final Map<String, String> hostByMachine = new LinkedHashMap<>();
    private List<Host> listed = List.of();
    private final Map<Integer, String> labels = new ConcurrentHashMap<>();
    private final Map<Worker, Integer> ranks = new LinkedHashMap<>();
    private final SampleRate sampleRate = new SampleRate();
    private int generation;
    private long hostsVersion;
    private @Nullable String abortReason;
    private @Nullable FunctionFailure lastFailure;
    private @Nullable Servers servers;

    /// What the workers connect to.
    ///
    /// @param ticket of the tasks
    private record Servers(
            RendezvousServer rendezvous,
            WorkerRegistry registry,
            TaskServer tasks,
            Secret ticket) {}

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
            servers = new Servers(rendezvous, registry, tasks, ticket);
            try {
                handleEvents();
                if (abortReason != null || driver.failure().isPresent()) {
                    throw failure();
                }
                return results();
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

    private Duration now() {
        return Duration.ofNanos(System.nanoTime() - startedNanos);
    }

    private void handleEvents() throws InterruptedException {
        while (workerSlots.size() < limits.maxWorkers()) {
            submitSlot();
        }
        decide(new DriverEvent.JobStarted());
        while (abortReason == null && !driver.isOver()) {
            Event event = events.poll(TICK.toMillis(), TimeUnit.MILLISECONDS);
            switch (event) {
                case Event.ForDriver(DriverEvent driverEvent) -> decide(driverEvent);
                case Event.Registered(ConnectedTask task) -> registered(task, now());
                case Event.WorkerEnded(int index, var how) -> workerEnded(index, how);
                case Event.Disconnected(int index, String reason) -> slotGone(index, reason);
                case null -> {
                    checkSlots();
                    decide(new DriverEvent.TimePassed());
                }
            }
        }
    }

    // Worker slots

    private void submitSlot() {
        Servers open = servers();
        int index = open.tasks.expectAnother();
        WorkerSlotTask task =
                new WorkerSlotTask(
                        settings.ticket(open.ticket.encode(), open.tasks.port()),
                        index,
                        body,
                        settings.processOptions(),
                        sampleRate);
        JavaFutureAction<List<Object>> job =
                JobProperties.submit(
                        settings.spark(),
                        "horovod4j-" + settings.job().id(),
                        "Horovod4J: elastic worker %d of %s"
                                .formatted(index, JobProperties.className(body.function())),
                        () ->
                                JavaSparkContext.fromSparkContext(settings.spark())
                                        .parallelize(List.of(index), 1)
                                        .rdd()
                                        .mapPartitions(
                                                task,
                                                false,
                                                ClassTag$.MODULE$.<Object>apply(Object.class))
                                        .toJavaRDD()
                                        .collectAsync());
        workerSlots.put(index, new WorkerSlot(index, job));
    }

    /// Replaces worker slots whose Spark job has ended, and adds some if the driver does not use others.
    private void checkSlots() {
        for (WorkerSlot workerSlot : List.copyOf(workerSlots.values())) {
            if (workerSlot.job().isDone() && !workerSlot.isConnected()) {
                workerSlots.remove(workerSlot.index());
                if (workerSlot.slot() < 0) { // it never ran: neither would the next
                    abort("Spark cannot run its tasks: " + sparkFailure(workerSlot));
                    return;
                }
            }
        }
        if (settings.spark().isStopped()) {
            abort("the Spark application was stopped");
            return;
        }
        Duration now = now();
        long unused = workerSlots.values().stream().filter(it -> it.isIdleFor(UNUSED, now)).count();
        long wanted = Math.min(limits.maxWorkers() + unused, 2L * limits.maxWorkers());
        while (workerSlots.size() < wanted) {
            submitSlot();
        }
        if (workerSlots.values().stream().anyMatch(it -> it.isIdleFor(REPLACEMENT_DELAY, now))) {
            giveUpLostSlots();
        }
    }

    private static String sparkFailure(WorkerSlot workerSlot) {
        try {
            return workerSlot.job().get().isEmpty() ? "they ended at once" : "they ended early";
        } catch (ExecutionException e) {
            return String.valueOf((e.getCause() == null ? e : e.getCause()).getMessage());
        } catch (CancellationException e) {
            return "they were cancelled";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "interrupted";
        }
    }

    private void registered(ConnectedTask task, Duration now) {
        WorkerSlot workerSlot = workerSlots.get(task.hello().index());
        if (workerSlot == null) {
            task.stop("the job does not need it any more");
            return;
        }
        boolean shared =
                workerSlots.values().stream()
                        .anyMatch(other -> other.isInExecutor(task.hello().executor()));
        if (shared && settings.processOptions() == null) {
            throw sharedExecutor();
        }
        String host =
                hostByMachine.computeIfAbsent(task.hello().machine(), _ -> task.hello().host());
        int slot = 0;
        while (isTaken(host, slot)) {
            slot++;
        }
        workerSlot.connected(task, host, slot, now);
        listHosts();
        startWaiting();
    }

    static ConfigurationException sharedExecutor() {
        return new ConfigurationException(
                """
                two elastic workers would run in one executor, whose JVM can be one worker only
                Set spark.task.cpus to the value of spark.executor.cores, or call processes().""");
    }

    private boolean isTaken(String host, int slot) {
        return workerSlots.values().stream().anyMatch(workerSlot -> workerSlot.isOn(host, slot));
    }

    private void slotGone(int index, String reason) {
        WorkerSlot workerSlot = workerSlots.get(index);
        if (workerSlot == null) {
            return;
        }
        workerSlot.disconnected();
        Worker worker = workerSlot.workerEnded(false, now());
        if (worker != null) {
            // If only its task has ended, it may still wait for a rank.
            servers().registry.dismiss(worker.number(), "its task has ended");
            workerGone(worker, true, "its executor or task is lost: " + reason);
        }
        listHosts();
    }

    /// Tells the driver which machines have worker slots. One without stays listed while a worker waits
    /// there: Spark mostly starts an executor again where it was.
    private void listHosts() {
        SequencedMap<String, Integer> slots = new LinkedHashMap<>();
        for (String host : new HashSet<>(hostByMachine.values())) {
            slots.put(host, 0);
        }
        workerSlots.values().stream()
                .filter(WorkerSlot::isConnected)
                .forEach(
                        workerSlot ->
                                slots.merge(workerSlot.host(), workerSlot.slot() + 1, Math::max));
        waiting.forEach(worker -> slots.merge(worker.host(), worker.slot() + 1, Math::max));
        listed.stream()
                .filter(host -> slots.getOrDefault(host.name(), 0) == 0 && !anyIdle())
                .forEach(host -> slots.put(host.name(), host.slots()));
        List<Host> now =
                slots.entrySet().stream()
                        .filter(entry -> entry.getValue() > 0)
                        .map(entry -> new Host(entry.getKey(), entry.getValue()))
                        .sorted(Comparator.comparing(Host::name))
                        .toList();
        if (!now.equals(listed) && !now.isEmpty()) {
            listed = now;
            decide(new DriverEvent.HostsDiscovered(now));
        }
    }

    private boolean anyIdle() {
        return workerSlots.values().stream().anyMatch(WorkerSlot::isIdle);
    }

    /// Spark has started an executor elsewhere: workers that wait for a slot that is gone do not
    /// wait any longer.
    private void giveUpLostSlots() {
        List<Worker> lost =
                waiting.stream()
                        .filter(
                                worker ->
                                        workerSlots.values().stream()
                                                .noneMatch(
                                                        workerSlot ->
                                                                workerSlot.isConnected()
                                                                        && workerSlot
                                                                                .host()
                                                                                .equals(
                                                                                        worker
                                                                                                .host())))
                        .toList();
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
        Optional<WorkerSlot> workerSlot =
                workerSlots.values().stream()
                        .filter(it -> it.isIdle() && it.isOn(worker.host(), worker.slot()))
                        .findFirst();
        workerSlot.ifPresent(
                it -> {
                    labels.put(it.index(), "worker " + worker.number());
                    it.start(
                            worker,
                            new TaskMessage.Start(worker.number(), true, settingsOf(worker)));
                });
        return workerSlot.isPresent();
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
        WorkerSlot workerSlot = workerSlots.get(index);
        boolean returned = how instanceof TaskMessage.Returned;
        Worker worker = workerSlot == null ? null : workerSlot.workerEnded(returned, now());
        if (worker == null) {
            return;
        }
        labels.remove(index);
        if (how instanceof TaskMessage.Threw(FunctionFailure failure)) {
            lastFailure = failure;
            workerGone(worker, true, "its function threw " + failure.thrown().text());
        } else {
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
            case DriverAction.Info(String text) -> LOGGER.log(Level.INFO, text);
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
        workerSlots.values().stream()
                .filter(workerSlot -> workerSlot.runs(worker))
                .forEach(workerSlot -> workerSlot.stop("the job has ended its worker"));
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
        workerSlots.values().stream()
                .filter(workerSlot -> workerSlot.runs(worker))
                .forEach(
                        workerSlot ->
                                labels.put(workerSlot.index(), Integer.toString(slot.rank())));
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

    private List<@Nullable Object> results() throws InterruptedException {
        Set<WorkerSlot> connected = new HashSet<>();
        for (WorkerSlot workerSlot : workerSlots.values()) {
            if (workerSlot.isConnected()) {
                workerSlot.stop("");
                connected.add(workerSlot);
            }
        }
        List<Result> results = new ArrayList<>();
        for (WorkerSlot workerSlot : connected) {
            results.addAll(results(workerSlot));
        }
        List<@Nullable Object> values = new ArrayList<>();
        results.stream()
                .filter(result -> result.rank() != Result.NO_RANK)
                .sorted(Comparator.comparingInt(Result::rank))
                .forEach(result -> values.add(result.value()));
        return values;
    }

    private static List<Result> results(WorkerSlot workerSlot) throws InterruptedException {
        try {
            return workerSlot.job().get(END_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS).stream()
                    .map(Result.class::cast)
                    .toList();
        } catch (ExecutionException | TimeoutException | CancellationException e) {
            if (workerSlot.hasReturned()) {
                throw new LaunchException(
                        "the training has ended, but the result of a worker on %s is lost: %s"
                                .formatted(workerSlot.host(), e.getMessage()),
                        e);
            }
            return List.of();
        }
    }

    private void end(TaskServer tasks) {
        workerSlots.values().stream()
                .map(WorkerSlot::job)
                .filter(job -> !job.isDone())
                .forEach(job -> job.cancel(true));
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
