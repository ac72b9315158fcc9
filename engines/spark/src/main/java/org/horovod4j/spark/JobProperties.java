package org.horovod4j.spark;

import org.apache.spark.SparkContext;
import org.apache.spark.SparkException;

import java.util.Properties;
import java.util.function.Supplier;

/// What the Spark UI shows about a job: its group and its description.
final class JobProperties {
    private static final String GROUP = "spark.jobGroup.id";
    private static final String DESCRIPTION = "spark.job.description";
    private static final String INTERRUPT = "spark.job.interruptOnCancel";

    private static final String CANCELLED = "SPARK_JOB_CANCELLED";

    private JobProperties() {}

    /// Whether a job failed because a user or a program cancelled it.
    static boolean isCancelled(Throwable failure) {
        return failure instanceof SparkException exception
                && CANCELLED.equals(exception.getCondition());
    }

    /// Submits a job with a group and a description, unless the program has set its own.
    ///
    /// @param group names the jobs that can be cancelled together
    static <T> T submit(SparkContext spark, String group, String description, Supplier<T> job) {
        Properties before = spark.getLocalProperties();
        Properties changed = new Properties();
        before.stringPropertyNames()
                .forEach(name -> changed.setProperty(name, before.getProperty(name)));
        if (changed.getProperty(GROUP) == null) {
            changed.setProperty(GROUP, group);
        }
        if (changed.getProperty(DESCRIPTION) == null) {
            changed.setProperty(DESCRIPTION, description);
        }
        changed.setProperty(INTERRUPT, "true");
        spark.setLocalProperties(changed);
        try {
            return job.get();
        } finally {
            spark.setLocalProperties(before);
        }
    }

    /// The class of a function, without what the compiler adds to the name of a lambda.
    static String className(Object function) {
        return function.getClass().getName().replaceFirst("\\$\\$Lambda.*", "");
    }
}
