package org.horovod4j.spark;

import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaSparkContext;
import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.LaunchException;
import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.security.Secret;
import org.horovod4j.spark.RankRunner.Result;
import org.horovod4j.spark.TaskServer.ConnectedTask;
import org.jspecify.annotations.Nullable;

import scala.reflect.ClassTag$;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

/// The worker slots of an elastic job: submits them to Spark, replaces those that are lost, and
/// lists their machines as the hosts of the job.
///
/// The thread of [ElasticRun] owns it.
final class WorkerSlots {
    /// After this time without a worker, a worker slot is one that the job does not want: its host
    /// is blacklisted.
    private static final Duration UNUSED = Duration.ofSeconds(5);

    /// How long a worker slot elsewhere waits before it takes the place of one that is gone.
    private static final Duration REPLACEMENT_DELAY = Duration.ofSeconds(1);

    /// How long worker slots may take to return their results.
    private static final Duration END_TIMEOUT = Duration.ofSeconds(30);

    /// How many tasks in sequence may be lost before they connect. Spark starts no executors any
    /// more, or each of them ends at once.
    private static final int MAX_LOST_STARTS = 20;

    private final RunSettings settings;
    private final RankBody.OfWorker body;
    private final SampleRate sampleRate;
    private final TaskServer tasks;
    private final Secret ticket;
    private final int maxWorkers;
    private final SequencedMap<Integer, WorkerSlot> slots = new TreeMap<>();
    private final Map<String, String> hostByMachine = new LinkedHashMap<>();

    /// Of worker slots that were lost after their function had returned.
    private final List<String> hostsOfLostResults = new ArrayList<>();

    /// Those that were lost a moment ago, and when.
    private final Map<WorkerSlot, Duration> lost = new HashMap<>();

    private List<Host> listed = List.of();
    private int lostStarts;

    /// @param ticket of the tasks
    /// @param maxWorkers how many workers may run at once
    WorkerSlots(
            RunSettings settings,
            RankBody.OfWorker body,
            SampleRate sampleRate,
            TaskServer tasks,
            Secret ticket,
            int maxWorkers) {
        this.settings = settings;
        this.body = body;
        this.sampleRate = sampleRate;
        this.tasks = tasks;
        this.ticket = ticket;
        this.maxWorkers = maxWorkers;
    }

    /// Submits a task for each worker slot that is missing. There are more slots than workers if
    /// some are of no use for the job.
    ///
    /// @return why the job cannot continue; empty if it can
    Optional<String> fill(Duration now) throws InterruptedException {
        if (settings.spark().isStopped()) {
            return Optional.of("the Spark application was stopped");
        }
        Optional<String> problem = cancellation(Duration.ZERO);
        for (WorkerSlot slot : List.copyOf(slots.values())) {
            problem = problem.or(() -> slot.job().isDone() ? checkEnd(slot) : Optional.empty());
        }
        if (problem.isPresent()) {
            return problem;
        }
        cancelLost(now);
        long unused = slots.values().stream().filter(it -> it.isIdleFor(UNUSED, now)).count();
        long wanted = Math.min(maxWorkers + unused, 2L * maxWorkers);
        while (slots.size() < wanted) {
            int index = tasks.expectAnother();
            slots.put(index, new WorkerSlot(index, submit(index)));
        }
        return Optional.empty();
    }

    private JavaFutureAction<List<Object>> submit(int index) {
        WorkerSlotTask task =
                new WorkerSlotTask(
                        settings.ticket(ticket.encode(), tasks.port()),
                        index,
                        body,
                        settings.processOptions(),
                        sampleRate);
        return JobProperties.submit(
                settings.spark(),
                "horovod4j-" + settings.job().id(),
                "Horovod4J: elastic worker %d of %s"
                        .formatted(index, JobProperties.className(body.function())),
                () ->
                        JavaSparkContext.fromSparkContext(settings.spark())
                                .parallelize(List.of(index), 1)
                                .rdd()
                                .mapPartitions(
                                        task, false, ClassTag$.MODULE$.<Object>apply(Object.class))
                                .toJavaRDD()
                                .collectAsync());
    }

    /// Removes a worker slot whose Spark job has ended before its task has connected. If the task is
    /// connected, that connection will end.
    ///
    /// @return why no other would do better; empty to submit another
    private Optional<String> checkEnd(WorkerSlot slot) {
        List<Object> results;
        try {
            results = slot.job().get();
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            if (JobProperties.isCancelled(cause)) {
                return Optional.of("the Spark job was cancelled: " + cause.getMessage());
            }
            return slot.isConnected()
                    ? Optional.empty()
                    : Optional.of("Spark cannot run its tasks: " + cause.getMessage());
        } catch (InterruptedException e) { // not while it is done
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
        if (slot.isConnected()) {
            return Optional.empty();
        }
        slots.remove(slot.index());
        for (Object result : results) {
            if (result instanceof WorkerSlotTask.NotConnected(String reason)) {
                return Optional.of("Spark cannot run its tasks: " + reason);
            }
        }
        // The executor was lost, and this was the second attempt.
        return ++lostStarts > MAX_LOST_STARTS
                ? Optional.of(
                        "Spark cannot run its tasks: %d executors in sequence were lost while they started one"
                                .formatted(lostStarts))
                : Optional.empty();
    }

    /// A task has connected.
    ///
    /// @return false if the job does not need it
    /// @throws ConfigurationException when its executor has a worker slot already
    boolean connected(ConnectedTask task, Duration now) {
        WorkerSlot slot = slots.get(task.hello().index());
        if (slot == null) {
            task.stop("the job does not need it any more");
            return false;
        }
        if (settings.processOptions() == null
                && slots.values().stream()
                        .anyMatch(other -> other.isInExecutor(task.hello().executor()))) {
            throw sharedExecutor();
        }
        String host =
                hostByMachine.computeIfAbsent(task.hello().machine(), _ -> task.hello().host());
        int number = 0;
        while (isTaken(host, number)) {
            number++;
        }
        slot.connected(task, host, number, now);
        lostStarts = 0;
        return true;
    }

    static ConfigurationException sharedExecutor() {
        return new ConfigurationException(
                """
                two elastic workers would run in one executor, whose JVM can be one worker only
                Set spark.task.cpus to the value of spark.executor.cores, or call processes().""");
    }

    private boolean isTaken(String host, int number) {
        return slots.values().stream().anyMatch(slot -> slot.isOn(host, number));
    }

    /// The connection of a task has ended: its executor is lost, or Spark or the job ended it.
    ///
    /// @return null if it is known already
    @Nullable WorkerSlot disconnected(int index, Duration now) {
        WorkerSlot slot = slots.get(index);
        if (slot == null) {
            return null;
        }
        slots.remove(index);
        lost.put(slot, now);
        slot.disconnected();
        if (slot.hasResult()) {
            hostsOfLostResults.add(slot.host());
        }
        return slot;
    }

    /// Whether the Spark job of a lost worker slot was cancelled.
    ///
    /// @param limit how long to wait for the end of each: a task is killed before its job ends
    /// @return why the job cannot continue; empty if none was
    Optional<String> cancellation(Duration limit) throws InterruptedException {
        for (WorkerSlot slot : lost.keySet()) {
            Optional<Throwable> failure = failure(slot, limit).filter(JobProperties::isCancelled);
            if (failure.isPresent()) {
                return failure.map(it -> "the Spark job was cancelled: " + it.getMessage());
            }
        }
        return Optional.empty();
    }

    /// Why the Spark job of a worker slot has failed; empty if it has not within `limit`.
    private static Optional<Throwable> failure(WorkerSlot slot, Duration limit)
            throws InterruptedException {
        try {
            slot.job().get(limit.toNanos(), TimeUnit.NANOSECONDS);
            return Optional.empty();
        } catch (ExecutionException e) {
            return Optional.of(e.getCause() == null ? e : e.getCause());
        } catch (TimeoutException e) {
            return Optional.empty();
        }
    }

    /// Frees what is left of lost worker slots in Spark, which may notice a loss much later.
    private void cancelLost(Duration now) {
        lost.forEach(
                (slot, since) -> {
                    if (now.minus(since).compareTo(REPLACEMENT_DELAY) > 0 && !slot.job().isDone()) {
                        slot.job().cancel(true);
                    }
                });
        lost.values().removeIf(since -> now.minus(since).compareTo(REPLACEMENT_DELAY) > 0);
    }

    Optional<WorkerSlot> find(int index) {
        return Optional.ofNullable(slots.get(index));
    }

    /// The worker slot in which this worker can start now.
    Optional<WorkerSlot> idle(Worker worker) {
        return slots.values().stream()
                .filter(slot -> slot.isIdle() && slot.isOn(worker.host(), worker.slot()))
                .findFirst();
    }

    Optional<WorkerSlot> running(Worker worker) {
        return slots.values().stream().filter(slot -> slot.runs(worker)).findFirst();
    }

    /// Whether a worker slot has waited long enough for a worker to take one from elsewhere.
    boolean canReplace(Duration now) {
        return slots.values().stream().anyMatch(slot -> slot.isIdleFor(REPLACEMENT_DELAY, now));
    }

    /// Whether the host of this worker has a worker slot.
    boolean hasHostOf(Worker worker) {
        return slots.values().stream()
                .anyMatch(slot -> slot.isConnected() && slot.host().equals(worker.host()));
    }

    /// The machines that have worker slots. One without stays listed while a worker waits there:
    /// Spark mostly starts an executor again where it was.
    ///
    /// @return empty if they are those of the last call
    Optional<List<Host>> changedHosts(Collection<Worker> waiting) {
        SequencedMap<String, Integer> counts = new LinkedHashMap<>();
        for (String host : new HashSet<>(hostByMachine.values())) {
            counts.put(host, 0);
        }
        slots.values().stream()
                .filter(WorkerSlot::isConnected)
                .forEach(slot -> counts.merge(slot.host(), slot.slot() + 1, Math::max));
        waiting.forEach(worker -> counts.merge(worker.host(), worker.slot() + 1, Math::max));
        boolean anyIdle = slots.values().stream().anyMatch(WorkerSlot::isIdle);
        listed.stream()
                .filter(host -> counts.getOrDefault(host.name(), 0) == 0 && !anyIdle)
                .forEach(host -> counts.put(host.name(), host.slots()));
        List<Host> hosts =
                counts.entrySet().stream()
                        .filter(entry -> entry.getValue() > 0)
                        .map(entry -> new Host(entry.getKey(), entry.getValue()))
                        .sorted(Comparator.comparing(Host::name))
                        .toList();
        if (hosts.equals(listed) || hosts.isEmpty()) {
            return Optional.empty();
        }
        listed = hosts;
        return Optional.of(hosts);
    }

    /// Ends all tasks, and returns what functions returned on the workers that had a rank at the
    /// end, by rank.
    List<@Nullable Object> results() throws InterruptedException {
        List<WorkerSlot> connected =
                slots.values().stream().filter(WorkerSlot::isConnected).toList();
        connected.forEach(slot -> slot.stop(""));
        List<Result> results = new ArrayList<>();
        for (WorkerSlot slot : connected) {
            results.addAll(results(slot));
        }
        if (!hostsOfLostResults.isEmpty()) {
            throw lostResult(hostsOfLostResults.getFirst(), "its executor is lost", null);
        }
        List<@Nullable Object> values = new ArrayList<>();
        results.stream()
                .filter(result -> result.rank() != Result.NO_RANK)
                .sorted(Comparator.comparingInt(Result::rank))
                .forEach(result -> values.add(result.value()));
        return values;
    }

    private static List<Result> results(WorkerSlot slot) throws InterruptedException {
        List<Result> results = List.of();
        String reason = "its executor is lost";
        @Nullable Exception cause = null;
        try {
            results =
                    slot.job().get(END_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS).stream()
                            .map(Result.class::cast)
                            .toList();
        } catch (ExecutionException | TimeoutException | CancellationException e) {
            reason = String.valueOf(e.getMessage());
            cause = e;
        }
        // Empty if Spark has run the task again, because its executor was lost with the result.
        if (results.isEmpty() && slot.hasResult()) {
            throw lostResult(slot.host(), reason, cause);
        }
        return results;
    }

    private static LaunchException lostResult(
            String host, String reason, @Nullable Exception cause) {
        return new LaunchException(
                "the training has ended, but the result of a worker on %s is lost: %s"
                        .formatted(host, reason),
                cause);
    }

    /// Cancels what still runs.
    void cancel() {
        Stream.concat(slots.values().stream(), lost.keySet().stream())
                .map(WorkerSlot::job)
                .filter(job -> !job.isDone())
                .forEach(job -> job.cancel(true));
    }
}
