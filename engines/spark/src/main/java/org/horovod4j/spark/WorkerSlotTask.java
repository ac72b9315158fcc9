package org.horovod4j.spark;

import org.apache.spark.TaskContext;
import org.horovod4j.ConfigurationException;
import org.horovod4j.spark.RankRunner.Result;
import org.jspecify.annotations.Nullable;

import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CancellationException;

/// What Spark runs in an executor for an elastic job: runs one worker after the other, as the driver
/// says, and returns their results when the job has ended.
///
/// The driver submits another worker slot when this one is lost. So a second attempt, by which Spark would
/// replace it, ends at once.
final class WorkerSlotTask extends AbstractFunction1<Iterator<Integer>, Iterator<Object>>
        implements Serializable {
    private static final long serialVersionUID = 1L;

    private final DriverTicket driver;
    private final int index;
    private final RankBody.OfWorker body;
    private final ProcessRank.@Nullable JvmOptions processOptions;
    private final SampleRate sampleRate;

    /// @param processOptions options of the JVM of each worker; null to run in the executor's JVM
    WorkerSlotTask(
            DriverTicket driver,
            int index,
            RankBody.OfWorker body,
            ProcessRank.@Nullable JvmOptions processOptions,
            SampleRate sampleRate) {
        this.driver = driver;
        this.index = index;
        this.body = body;
        this.processOptions = processOptions;
        this.sampleRate = sampleRate;
    }

    @Override
    public Iterator<Object> apply(Iterator<Integer> rows) {
        TaskContext context = TaskContext.get();
        List<Object> results = new ArrayList<>();
        if (context.attemptNumber() == 0) {
            try (RunningTask task = connect(context)) {
                SampleRate.attach(sampleRate);
                runWorkers(task, results);
            } catch (NotConnectedException e) {
                results.add(new NotConnected(String.valueOf(e.getMessage())));
            } catch (Exception e) {
                throw RunningTask.unchecked(e);
            } finally {
                SampleRate.attach(null);
            }
        }
        return CollectionConverters.asScala(results.iterator());
    }

    private RunningTask connect(TaskContext context) throws NotConnectedException {
        try {
            return new RunningTask(context, driver, index, processOptions);
        } catch (RuntimeException | LinkageError e) {
            context.killTaskIfInterrupted();
            throw new NotConnectedException(e);
        }
    }

    /// The result of a task that cannot reach the driver. An exception would be lost: Spark would
    /// run the task again, and the second attempt succeeds.
    record NotConnected(String reason) implements Serializable {}

    private static final class NotConnectedException extends Exception {
        private static final long serialVersionUID = 1L;

        NotConnectedException(Throwable cause) {
            super(
                    cause instanceof ConfigurationException ? cause.getMessage() : cause.toString(),
                    cause);
        }
    }

    private void runWorkers(RunningTask task, List<Object> results) throws Exception {
        while (true) {
            switch (task.await()) {
                case TaskMessage.Start start -> {
                    try {
                        Result result = task.run(start, body, Collections.emptyIterator());
                        results.add(result);
                    } catch (Exception e) {
                        if (task.isStopped()) {
                            throw e;
                        } // else the driver knows, and decides what runs next
                    }
                }
                case TaskMessage.Stop(String reason) -> {
                    if (reason.isEmpty()) {
                        return;
                    }
                    throw new CancellationException(reason);
                }
                case TaskMessage.LinesPrinted _ -> throw new IllegalStateException("not a command");
            }
        }
    }
}
