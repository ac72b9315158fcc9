package org.horovod4j.spark;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Hvd;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.runtime.HvdRuntime;
import org.horovod4j.runtime.Rank;
import org.jspecify.annotations.Nullable;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/// A rank in the executor's JVM, on the thread of the task.
///
/// The only rank of an executor is also the rank of [Hvd]. Several ranks of one executor are threads
/// of one JVM, and each has its communicator alone.
final class ExecutorRank implements RankRunner {
    /// Whether a rank uses [Hvd], of which a JVM has one.
    private static final AtomicBoolean HVD_IN_USE = new AtomicBoolean();

    /// Spark has handlers of its own, and one JVM runs many jobs.
    private static final Map<String, String> NO_HOOKS =
            Map.of(RuntimeOptions.JVM_HOOKS.variable(), "0");

    private static final String HVD_OF_ANOTHER =
            "another job uses Hvd in this executor, so this job cannot use Hvd here: use the communicator"
                    + " that the function gets. Let jobs run one after the other, or call processes().";

    private final Consumer<Throwable> failureReport;
    private @Nullable Rank rank;
    private boolean usesHvd;
    private @Nullable String abortReason;

    /// @param failureReport called with what the function throws, before the other ranks learn of
    ///     it
    ExecutorRank(Consumer<Throwable> failureReport) {
        this.failureReport = failureReport;
    }

    @Override
    public Result run(TaskMessage.Start start, RankBody body, Iterator<?> rows) throws Exception {
        Map<String, String> settings = new HashMap<>(NO_HOOKS);
        settings.putAll(start.settings());
        boolean claimed =
                start.isAlone() && !Hvd.isInitialized() && HVD_IN_USE.compareAndSet(false, true);
        if (start.isAlone() && !claimed && body instanceof RankBody.OfRank) {
            System.err.println(HVD_OF_ANOTHER);
        }
        try {
            return switch (body) {
                case RankBody.OfRank function ->
                        new Result(
                                start.worker(),
                                claimed
                                        ? runWithHvd(settings, function, rows)
                                        : runOnThread(settings, function, rows));
                case RankBody.OfWorker(var function) -> {
                    if (!claimed) {
                        throw new ConfigurationException(
                                "another job uses Hvd in this executor, whose JVM can be one elastic worker only."
                                        + " Let that job end first, or call processes().");
                    }
                    yield runElastic(settings, function::call);
                }
            };
        } finally {
            if (claimed) {
                Hvd.configure(NO_HOOKS); // closes what the job has left open
                HVD_IN_USE.set(false);
            }
        }
    }

    private @Nullable Object runWithHvd(
            Map<String, String> settings, RankBody.OfRank function, Iterator<?> rows)
            throws Exception {
        Hvd.init(settings);
        return leaving(
                () -> {
                    useHvd();
                    return function.call(Hvd.communicator(), rows);
                });
    }

    private Result runElastic(Map<String, String> settings, Call<?> function) throws Exception {
        Hvd.configure(settings);
        return leaving(
                () -> {
                    useHvd();
                    Object value = function.call();
                    return new Result(Hvd.isInitialized() ? Hvd.rank() : Result.NO_RANK, value);
                });
    }

    @FunctionalInterface
    private interface Call<R extends @Nullable Object> {
        R call() throws Exception;
    }

    private <R extends @Nullable Object> R leaving(Call<R> call) throws Exception {
        try {
            R result = call.call();
            Hvd.shutdown();
            return result;
        } catch (Throwable e) { // the other ranks must not wait for this one
            failureReport.accept(e);
            Hvd.abort("its function failed: " + e);
            throw e;
        }
    }

    private @Nullable Object runOnThread(
            Map<String, String> settings, RankBody.OfRank function, Iterator<?> rows)
            throws Exception {
        Rank started = HvdRuntime.of(settings).startOnly();
        try (Communicator communicator = started.communicator()) {
            try {
                use(started);
                return function.call(communicator, rows);
            } catch (Throwable e) { // the other ranks must not wait for this one
                failureReport.accept(e);
                started.abort("its function failed: " + e);
                throw e;
            }
        }
    }

    private synchronized void use(Rank started) {
        rank = started;
        if (abortReason != null) {
            started.abort(abortReason);
        }
    }

    private synchronized void useHvd() {
        usesHvd = true;
        if (abortReason != null) {
            Hvd.abort(abortReason);
        }
    }

    @Override
    public synchronized void abort(String reason) {
        abortReason = reason;
        if (rank != null) {
            rank.abort(reason);
        }
        if (usesHvd) {
            Hvd.abort(reason);
        }
    }
}
