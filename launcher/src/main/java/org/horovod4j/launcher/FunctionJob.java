package org.horovod4j.launcher;

import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.function.RankOutcomes;
import org.horovod4j.launcher.function.WorkerResult;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.process.Signal;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/// One launch of a function, from the start of its processes to the list of its results.
///
/// @param slots of the ranks; unused in an elastic job
/// @param outcomes of the ranks
/// @param launcherConsole prints the messages of the launcher
record FunctionJob(
        HorovodRun launcher,
        Invocation.Launch launch,
        JobSettings settings,
        List<Slot> slots,
        RankOutcomes outcomes,
        LauncherConsole launcherConsole) {
    /// Runs the job, and returns when all its processes have exited.
    ///
    /// @param codec knows the classes of the function's program, as `loader` does
    /// @return what the function returned, by rank
    List<@Nullable Object> run(ObjectCodec codec, ClassLoader loader) {
        int exitCode = runProcesses();
        RankOutcomes.RankFailure rankFailure = outcomes.firstFailure().orElse(null);
        if (rankFailure != null) {
            throw exception(rankFailure, loader);
        }
        if (exitCode != 0) {
            throw new LaunchException(launcherConsole.lastMessage());
        }
        return results(codec);
    }

    /// Runs an elastic job, and returns when all its processes have exited.
    ///
    /// @return what the function returned on the workers of the last generation, by rank
    List<@Nullable Object> runElastic(ObjectCodec codec, ClassLoader loader) {
        if (runProcesses() != 0) {
            throw LaunchException.ofElasticJob(
                    launcherConsole.lastMessage(), outcomes.lastThrown().orElse(null), loader);
        }
        List<@Nullable Object> results = new ArrayList<>();
        outcomes.values().stream()
                .map(value -> (WorkerResult) decode(value, "a worker", codec))
                .filter(WorkerResult::hasRank)
                .sorted(Comparator.comparingInt(WorkerResult::rank))
                .forEach(result -> results.add(result.value()));
        return results;
    }

    private int runProcesses() {
        TerminationSignals terminationSignals = TerminationSignals.manual();
        int exitCode = await(AsyncValue.of(() -> start(terminationSignals)), terminationSignals);
        if (terminationSignals.anyReceived()) {
            throw interrupted(null);
        }
        return exitCode;
    }

    private int start(TerminationSignals terminationSignals) throws InterruptedException {
        try {
            return launcher.launch(
                    launch,
                    settings,
                    TerminationSignals.Cancellation.by(terminationSignals),
                    outcomes::exited);
        } catch (IOException e) {
            if (terminationSignals.anyReceived()) {
                throw interrupted(e);
            }
            throw new LaunchException(
                    "cannot start the job, all that was started is ended: " + e.getMessage(), e);
        }
    }

    private static LaunchException interrupted(@Nullable IOException cause) {
        return new LaunchException(
                "the thread that launched the job was interrupted; its processes are ended", cause);
    }

    /// Waits until the job has ended. An interrupt of this thread ends the job.
    private static int await(AsyncValue<Integer> job, TerminationSignals terminationSignals) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return job.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                    terminationSignals.receive(Signal.TERM);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private LaunchException exception(RankOutcomes.RankFailure rankFailure, ClassLoader loader) {
        return switch (rankFailure) {
            case RankOutcomes.Threw(int rank, var functionFailure) ->
                    LaunchException.threw(rank, host(rank), functionFailure.thrown(), loader);
            case RankOutcomes.Died(int rank, String how) ->
                    LaunchException.died(rank, host(rank), how, details());
        };
    }

    /// If a process exits with 0, the launcher sees no failure and prints nothing.
    private String details() {
        return launcherConsole.lastMessage().isEmpty()
                ? "Does the function call System.exit?"
                : launcherConsole.lastMessage();
    }

    private List<@Nullable Object> results(ObjectCodec codec) {
        List<@Nullable Object> results = new ArrayList<>();
        for (int rank = 0; rank < slots.size(); rank++) {
            results.add(result(rank, codec));
        }
        return results;
    }

    private @Nullable Object result(int rank, ObjectCodec codec) {
        String host = host(rank);
        byte[] value = outcomes.value(rank).orElse(null);
        if (value == null) {
            throw LaunchException.died(rank, host, "ended without a result", details());
        }
        return decode(value, "rank %d on %s".formatted(rank, host), codec);
    }

    private static @Nullable Object decode(byte[] value, String source, ObjectCodec codec) {
        try {
            return codec.decode(value);
        } catch (CodecException e) {
            throw new LaunchException(
                    "the result of %s cannot be read: %s".formatted(source, e.getMessage()), e);
        }
    }

    private String host(int rank) {
        return slots.get(rank).host();
    }
}
