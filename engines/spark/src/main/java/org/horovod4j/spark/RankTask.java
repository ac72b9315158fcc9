package org.horovod4j.spark;

import org.apache.spark.TaskContext;
import org.jspecify.annotations.Nullable;

import scala.collection.Iterator;
import scala.collection.Iterator$;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

import java.io.Serializable;
import java.util.concurrent.CancellationException;

/// What Spark runs in an executor for each rank of a fixed job: waits for the rank, runs the
/// function, and returns its result.
///
/// @param <T> the rows of the partition
final class RankTask<T> extends AbstractFunction1<Iterator<T>, Iterator<Object>>
        implements Serializable {
    private static final long serialVersionUID = 1L;

    private final DriverTicket driver;
    private final RankBody.OfRank body;
    private final ProcessRank.@Nullable JvmOptions processOptions;
    private final @Nullable SampleRate sampleRate;

    /// @param processOptions options of the JVM of each rank; null to run in the executor's JVM
    RankTask(
            DriverTicket driver,
            RankBody.OfRank body,
            ProcessRank.@Nullable JvmOptions processOptions,
            @Nullable SampleRate sampleRate) {
        this.driver = driver;
        this.body = body;
        this.processOptions = processOptions;
        this.sampleRate = sampleRate;
    }

    @Override
    public Iterator<Object> apply(Iterator<T> rows) {
        TaskContext context = TaskContext.get();
        try (RunningTask task =
                new RunningTask(context, driver, context.partitionId(), processOptions)) {
            SampleRate.attach(sampleRate);
            Object result =
                    switch (task.await()) {
                        case TaskMessage.Start start ->
                                task.run(start, body, CollectionConverters.asJava(rows)).value();
                        case TaskMessage.Stop(String reason) ->
                                throw new CancellationException(reason);
                        case TaskMessage.LinesPrinted _ ->
                                throw new IllegalStateException("not a command");
                    };
            return Iterator$.MODULE$.single(result);
        } catch (Exception e) {
            throw RunningTask.unchecked(e);
        } finally {
            SampleRate.attach(null);
        }
    }
}
