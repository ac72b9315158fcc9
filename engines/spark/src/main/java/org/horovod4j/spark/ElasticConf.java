package org.horovod4j.spark;

import org.apache.spark.SparkConf;
import org.horovod4j.ConfigurationException;

/// The settings of Spark that an elastic job cannot work with.
final class ElasticConf {
    private static final String SPECULATION = "spark.speculation";
    private static final String SPECULATION_THRESHOLD = "spark.speculation.task.duration.threshold";
    private static final String MAX_EXECUTORS = "spark.dynamicAllocation.maxExecutors";

    private ElasticConf() {}

    /// @throws ConfigurationException when Spark would end workers that are well
    static void check(RunSettings settings, int maxWorkers) {
        SparkConf conf = settings.conf();
        if (conf.getBoolean(SPECULATION, false) && conf.contains(SPECULATION_THRESHOLD)) {
            throw new ConfigurationException(
                    """
                    %s is true and %s is set: Spark would start each worker a second time after a while, and end the first
                    Set %1$s to false, or leave out %2$s."""
                            .formatted(SPECULATION, SPECULATION_THRESHOLD));
        }
        if (ExecutorSlots.isDynamic(settings.spark())
                && conf.getInt(MAX_EXECUTORS, Integer.MAX_VALUE) < maxWorkers
                && settings.processOptions() == null) {
            settings.printMessage(
                    "%s is %s, so this job gets fewer than its %d workers. Raise it, or lower maxRanks."
                            .formatted(MAX_EXECUTORS, conf.get(MAX_EXECUTORS), maxWorkers));
        }
    }
}
