package org.horovod4j.spark;

import static scala.jdk.javaapi.OptionConverters.toJava;

import org.apache.spark.SparkStatusTracker;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaRDD;
import org.horovod4j.launcher.LaunchException;
import org.horovod4j.launcher.function.RankOutcomes;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.rendezvous.MembershipListener;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.security.Secret;
import org.horovod4j.spark.TaskServer.ConnectedTask;
import org.horovod4j.text.MessageText;
import org.jspecify.annotations.Nullable;

import scala.reflect.ClassTag$;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;

/// A job with a fixed number of ranks, on the driver: one barrier stage, whose tasks are the ranks.
///
/// The tasks connect to the [TaskServer]. When all have, they get their ranks, so that the ranks of a
/// machine are consecutive. Then they join at the [RendezvousServer], as the processes of
/// `horovodrun` do.
final class FixedRun implements TaskServer.Listener {
    private static final Duration POLL = Duration.ofMillis(50);

    /// How long tasks may take to end when the job has ended.
    private static final Duration END_TIMEOUT = Duration.ofSeconds(10);

    private final RunSettings settings;
    private final int size;
    private final RankOutcomes outcomes = new RankOutcomes();
    private final SequencedMap<Integer, ConnectedTask> tasks = new TreeMap<>();
    private final Map<Integer, Slot> slots = new HashMap<>();
    private volatile @Nullable RendezvousServer rendezvous;
    private volatile @Nullable TaskServer server;

    FixedRun(RunSettings settings, int size) {
        this.settings = settings;
        this.size = size;
    }

    /// Runs `body` with each partition.
    ///
    /// @return what it returned, by rank
    <T> List<@Nullable Object> run(JavaRDD<T> partitions, RankBody.OfRank body) {
        try {
            ExecutorSlots.await(settings.spark(), size, settings.job().startTimeout());
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
        Secret ticket = DriverTicket.newTicket();
        try (RendezvousServer openRendezvous =
                        RendezvousServer.start(
                                settings.job().secret(),
                                size,
                                List.of(settings.bind(0)),
                                settings.job().heartbeatTimeout(),
                                settings.job().startTimeout(),
                                MembershipListener.NONE);
                TaskServer openServer =
                        new TaskServer(
                                DriverTicket.connectionSecret(ticket),
                                settings.bind(1),
                                settings.job().heartbeatTimeout(),
                                size,
                                this)) {
            rendezvous = openRendezvous;
            server = openServer;
            DriverTicket driverTicket = settings.ticket(ticket.encode(), openServer.port());
            SampleRate sampleRate = new SampleRate();
            settings.spark().register(sampleRate, HvdSpark.SAMPLES);
            RankTask<T> task =
                    new RankTask<>(driverTicket, body, settings.processOptions(), sampleRate);
            JavaFutureAction<List<Object>> job =
                    JobProperties.submit(
                            settings.spark(),
                            "horovod4j-" + settings.job().id(),
                            "Horovod4J: %s of %s"
                                    .formatted(
                                            MessageText.count(size, "rank"),
                                            JobProperties.className(body.function())),
                            () -> submit(partitions, task));
            return await(job, openServer);
        }
    }

    private static <T> JavaFutureAction<List<Object>> submit(
            JavaRDD<T> partitions, RankTask<T> task) {
        return partitions
                .rdd()
                .barrier()
                .mapPartitions(task, false, ClassTag$.MODULE$.<Object>apply(Object.class))
                .toJavaRDD()
                .collectAsync();
    }

    private List<@Nullable Object> await(JavaFutureAction<List<Object>> job, TaskServer open) {
        try {
            awaitStart(job);
            List<@Nullable Object> results = byRank(job.get());
            open.awaitDisconnects(END_TIMEOUT);
            return results;
        } catch (InterruptedException e) {
            end(job, open);
            throw interrupted(e);
        } catch (ExecutionException e) {
            end(job, open);
            throw failure(e.getCause() == null ? e : e.getCause());
        } catch (CancellationException e) {
            end(job, open);
            throw failure(e);
        } catch (RuntimeException e) {
            end(job, open);
            throw e;
        }
    }

    private void awaitStart(JavaFutureAction<?> job)
            throws InterruptedException, ExecutionException {
        Duration limit = settings.job().startTimeout();
        long deadline = System.nanoTime() + limit.toNanos();
        while (!isStarted()) {
            try {
                job.get(POLL.toMillis(), TimeUnit.MILLISECONDS);
                return;
            } catch (TimeoutException e) {
                if (computesPartitions(job)) {
                    deadline = System.nanoTime() + limit.toNanos();
                } else if (System.nanoTime() > deadline) {
                    throw ExecutorSlots.of(settings.spark()).notStarted(started(), size, limit);
                }
            }
        }
    }

    /// Whether Spark still computes what the partitions depend on, as after a shuffle. That may take
    /// any time.
    private boolean computesPartitions(JavaFutureAction<?> job) {
        SparkStatusTracker tracker = settings.spark().statusTracker();
        return job.jobIds().stream()
                .flatMap(id -> toJava(tracker.getJobInfo(id)).stream())
                .flatMapToInt(info -> IntStream.of(info.stageIds()).max().stream()) // of the ranks
                .mapToObj(tracker::getStageInfo)
                .flatMap(stage -> toJava(stage).stream())
                .anyMatch(stage -> stage.submissionTime() == 0);
    }

    /// Ends what is left of the tasks, and waits for them: their slots are free then.
    private void end(JavaFutureAction<?> job, TaskServer open) {
        job.cancel(true);
        boolean interrupted = Thread.interrupted();
        try {
            open.awaitDisconnects(END_TIMEOUT);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static LaunchException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return new LaunchException(
                "the thread that launched the job was interrupted; its tasks are ended", e);
    }

    private LaunchException failure(Throwable spark) {
        String text = String.valueOf(spark.getMessage());
        if (JobProperties.isCancelled(spark)) {
            return new LaunchException("the Spark job was cancelled: " + text, spark);
        }
        return switch (outcomes.firstFailure().orElse(null)) {
            case RankOutcomes.Threw(int rank, var failure) ->
                    LaunchException.threw(rank, host(rank), failure.thrown(), loader());
            case RankOutcomes.Died(int rank, String how) ->
                    LaunchException.died(rank, host(rank), how, "Spark reports: " + text);
            case null -> new LaunchException("the Spark job failed: " + text, spark);
        };
    }

    private static ClassLoader loader() {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        return loader == null ? FixedRun.class.getClassLoader() : loader;
    }

    private synchronized String host(int rank) {
        return slots.values().stream()
                .filter(slot -> slot.rank() == rank)
                .map(Slot::host)
                .findFirst()
                .orElse("an executor");
    }

    private synchronized List<@Nullable Object> byRank(List<Object> byTask) {
        SortedMap<Integer, @Nullable Object> results = new TreeMap<>();
        for (int index = 0; index < size; index++) {
            Slot slot = slots.get(index);
            if (slot == null) {
                throw new LaunchException("the Spark job ended before its ranks had started");
            }
            results.put(slot.rank(), byTask.get(index));
        }
        return new ArrayList<>(results.values());
    }

    private synchronized boolean isStarted() {
        return !slots.isEmpty();
    }

    private synchronized int started() {
        return tasks.size();
    }

    @Override
    public synchronized void registered(ConnectedTask task) {
        tasks.put(task.hello().index(), task);
        if (tasks.size() == size) {
            startRanks();
        }
    }

    /// The tasks of a machine get consecutive ranks. Machines and their tasks keep the order of
    /// partitions. One name stands for all that Spark knows a machine by.
    private void startRanks() {
        SequencedMap<String, List<ConnectedTask>> machines = new LinkedHashMap<>();
        Map<String, Integer> perExecutor = new HashMap<>();
        for (ConnectedTask task : tasks.values()) {
            machines.computeIfAbsent(task.hello().machine(), _ -> new ArrayList<>()).add(task);
            perExecutor.merge(task.hello().executor(), 1, Integer::sum);
        }
        List<Host> hosts = new ArrayList<>();
        for (List<ConnectedTask> own : machines.values()) {
            hosts.add(new Host(own.getFirst().hello().host(), own.size()));
        }
        List<Slot> plan = HostPlan.of(hosts, size).slots();
        int rank = 0;
        for (List<ConnectedTask> own : machines.values()) {
            for (ConnectedTask task : own) {
                slots.put(task.hello().index(), plan.get(rank++));
            }
        }
        TaskServer openServer = server;
        if (openServer != null) {
            openServer.acceptNoMore();
        }
        tasks.forEach((index, task) -> start(task, perExecutor));
    }

    private void start(ConnectedTask task, Map<String, Integer> perExecutor) {
        Slot slot = slots.get(task.hello().index());
        RendezvousServer open = rendezvous;
        if (slot == null || open == null) {
            throw new IllegalStateException("a task without a rank");
        }
        int ranks = perExecutor.getOrDefault(task.hello().executor(), 1);
        task.start(
                new TaskMessage.Start(
                        slot.rank(), ranks == 1, settings.ofRank(slot, open.address().getPort())));
    }

    @Override
    public void printed(ConnectedTask task, boolean isError, String line) {
        settings.print(Integer.toString(rank(task)), isError, line);
    }

    private synchronized int rank(ConnectedTask task) {
        Slot slot = slots.get(task.hello().index());
        return slot == null ? task.hello().index() : slot.rank();
    }

    @Override
    public void ended(ConnectedTask task, TaskMessage.FromTask how) {
        int rank = rank(task);
        if (how instanceof TaskMessage.Threw(var failure)) {
            outcomes.add(new RankOutcomes.Threw(rank, failure));
        } else {
            outcomes.add(new RankOutcomes.Returned(rank, new byte[0]));
        }
    }

    @Override
    public void disconnected(ConnectedTask task, String reason) {
        int rank = rank(task);
        outcomes.exited(rank, reason); // ignored if it has ended before
        RendezvousServer open = rendezvous;
        if (open != null && isStarted()) {
            open.reportExit(rank, reason);
        }
    }
}
