package org.horovod4j.spark;

import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskInterruptListener;
import org.horovod4j.launcher.function.FunctionFailure;
import org.horovod4j.spark.RankRunner.Result;
import org.jspecify.annotations.Nullable;

import java.util.Iterator;

/// A Spark task that is connected to the driver of the job, and ends when Spark or the driver says
/// so.
///
/// Spark may kill a task without an interrupt of its thread, as it does when another task of a
/// barrier stage fails. A rank that waits for another rank does not notice an interrupt either. So
/// the rank is aborted, and the thread interrupted, in both cases.
final class RunningTask implements AutoCloseable {
    private final Thread thread = Thread.currentThread();
    private final TaskClient client;
    private final ProcessRank.@Nullable JvmOptions processOptions;
    private @Nullable RankRunner runner;
    private @Nullable String stopReason;
    private boolean failureReported;

    /// From then on its thread belongs to Spark, and may run another task.
    private boolean isClosed;

    /// @param index of the task in the job
    /// @param processOptions options of the JVM of each rank; null to run in this JVM
    RunningTask(
            TaskContext context,
            DriverTicket driver,
            int index,
            ProcessRank.@Nullable JvmOptions processOptions) {
        this.client = new TaskClient(driver, index);
        this.processOptions = processOptions;
        client.output().attach();
        client.onStop(this::stop);
        TaskInterruptListener onKill = (_, reason) -> stop("Spark ended its task: " + reason);
        var _ = context.addTaskInterruptListener(onKill);
    }

    /// Waits for the next command of the driver.
    TaskMessage.FromDriver await() throws InterruptedException {
        return client.await();
    }

    /// Runs a function, and reports to the driver how it ended.
    Result run(TaskMessage.Start start, RankBody body, Iterator<?> rows) throws Exception {
        RankRunner chosen =
                processOptions == null
                        ? new ExecutorRank(this::reportFailure)
                        : new ProcessRank(processOptions, client.output(), this::reportFailure);
        use(chosen);
        try {
            Result result = chosen.run(start, body, rows);
            client.returned();
            return result;
        } catch (Throwable e) {
            reportFailure(e);
            throw e;
        } finally {
            use(null);
        }
    }

    private synchronized void use(@Nullable RankRunner chosen) {
        runner = chosen;
        if (chosen != null) {
            failureReported = false;
            if (stopReason != null) {
                chosen.abort(stopReason);
            }
        }
    }

    /// Reports the first failure of a run. A rank whose function throws reports before it leaves the job:
    /// after that the other ranks fail, and Spark kills this task.
    private void reportFailure(Throwable thrown) {
        FunctionFailure failure = FunctionFailure.of(thrown); // no lock: this calls the program
        synchronized (this) {
            if (stopReason == null && !failureReported) {
                failureReported = true;
                client.threw(failure);
            }
        }
    }

    synchronized boolean isStopped() {
        return stopReason != null;
    }

    /// Does not wait: Spark and the connection call it on threads of theirs. The driver learns at
    /// once that this task is gone, or after a failure that was reported, and lets a worker that waits
    /// for a rank return.
    private synchronized void stop(String reason) {
        if (stopReason == null && !isClosed) {
            stopReason = reason;
            thread.interrupt();
            if (failureReported) {
                client.finish();
            } else {
                client.disconnect();
            }
            RankRunner running = runner;
            if (running != null) {
                Thread.ofPlatform()
                        .daemon()
                        .name("hvd-spark-stop")
                        .start(() -> running.abort(reason));
            }
        }
    }

    @Override
    public void close() {
        synchronized (this) {
            isClosed = true;
        }
        client.close();
    }

    /// An exception as Spark's functions may throw it.
    static RuntimeException unchecked(Exception e) {
        return throwAs(e);
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <X extends Exception> RuntimeException throwAs(Exception e) throws X {
        throw (X) e;
    }
}
