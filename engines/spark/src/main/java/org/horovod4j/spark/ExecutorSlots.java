package org.horovod4j.spark;

import org.apache.spark.SparkContext;
import org.apache.spark.status.api.v1.ExecutorSummary;
import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.LaunchException;
import org.horovod4j.text.DurationFormat;
import org.horovod4j.text.MessageText;

import scala.jdk.javaapi.CollectionConverters;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/// The executors that Spark has now, and how many tasks they can run at once.
///
/// @param executors those that are active and can run tasks
record ExecutorSlots(List<ExecutorSummary> executors) {
    private static final String DYNAMIC_ALLOCATION = "spark.dynamicAllocation.enabled";
    private static final long POLL_MILLIS = 50;

    static ExecutorSlots of(SparkContext spark) {
        return new ExecutorSlots(
                CollectionConverters.asJava(spark.statusStore().executorList(true)).stream()
                        .filter(executor -> executor.maxTasks() > 0)
                        .toList());
    }

    /// Whether Spark adds and removes executors. A local master ignores the setting.
    static boolean isDynamic(SparkContext spark) {
        return spark.getConf().getBoolean(DYNAMIC_ALLOCATION, false) && !spark.isLocal();
    }

    /// The tasks that can run at once.
    int total() {
        return executors.stream().mapToInt(ExecutorSummary::maxTasks).sum();
    }

    /// Waits until Spark has slots for all ranks. Spark itself looks every 15 seconds only.
    ///
    /// @throws ConfigurationException when there are too few after `limit`
    static void await(SparkContext spark, int ranks, Duration limit) throws InterruptedException {
        if (isDynamic(spark)) {
            throw new ConfigurationException(
                    """
                    %s is true, and Spark cannot run all ranks at once (barrier mode) while it adds and removes executors
                    Set %1$s to false, or call runElastic, which needs no barrier."""
                            .formatted(DYNAMIC_ALLOCATION));
        }
        long deadline = System.nanoTime() + limit.toNanos();
        ExecutorSlots now = of(spark);
        while (now.total() < ranks) {
            if (System.nanoTime() > deadline) {
                throw now.tooFew(ranks, limit, spark);
            }
            Thread.sleep(POLL_MILLIS);
            now = of(spark);
        }
    }

    /// Whether an executor can run several tasks at once. Waits until Spark has slots for all ranks.
    static boolean areShared(SparkContext spark, int ranks, Duration limit) {
        try {
            await(spark, ranks, limit);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LaunchException("the thread that launched the job was interrupted", e);
        }
        return of(spark).executors.stream().anyMatch(executor -> executor.maxTasks() > 1);
    }

    private ConfigurationException tooFew(int ranks, Duration limit, SparkContext spark) {
        String taskCpus = spark.getConf().get("spark.task.cpus", "1");
        if (executors.isEmpty()) {
            return new ConfigurationException(
                    """
                    no executor of Spark has started after %s, and %s need one
                    Look at the page of the cluster manager: no worker may have as much as spark.executor.memory and spark.executor.cores ask for. To wait longer, call startTimeout."""
                            .formatted(
                                    DurationFormat.seconds(limit),
                                    MessageText.count(ranks, "rank")));
        }
        return new ConfigurationException(
                """
                %s need as many slots of executors at the same time, and after %s Spark has %d: %s
                Raise spark.executor.instances, spark.cores.max or spark.executor.cores, lower spark.task.cpus (it is %s), or run fewer ranks. To wait longer, call startTimeout."""
                        .formatted(
                                MessageText.count(ranks, "rank"),
                                DurationFormat.seconds(limit),
                                total(),
                                this,
                                taskCpus));
    }

    /// Slots are there, but Spark has not started all tasks.
    ConfigurationException notStarted(int started, int ranks, Duration limit) {
        return new ConfigurationException(
                """
                after %s, Spark has started %d of %d ranks. It starts them when all have a slot at the same time, and other tasks use some of its %d slots: %s
                Wait until other jobs of this application have ended, or raise spark.executor.instances or spark.executor.cores. To wait longer, call startTimeout."""
                        .formatted(DurationFormat.seconds(limit), started, ranks, total(), this));
    }

    /// As in "2 executors (node1: 1 slot, node2: 1 slot)".
    @Override
    public String toString() {
        Map<String, Integer> byHost = new TreeMap<>();
        executors.forEach(
                executor ->
                        byHost.merge(
                                executor.hostPort().replaceAll(":\\d+$", ""),
                                executor.maxTasks(),
                                Integer::sum));
        return byHost.entrySet().stream()
                .map(host -> host.getKey() + ": " + MessageText.count(host.getValue(), "slot"))
                .collect(
                        Collectors.joining(
                                ", ", MessageText.count(executors.size(), "executor") + " (", ")"));
    }
}
