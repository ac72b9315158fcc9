package org.horovod4j.launcher;

import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.function.RankOutcomes;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.launcher.process.Signal;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/// One launch of a function, from the start of its processes to the list of its results.
///
/// @param outcomes of the ranks
/// @param launcherConsole prints the messages of the launcher
record FunctionJob(
        HorovodRun launcher,
        Invocation.Launch launch,
        JobSettings settings,
        HostPlan plan,
        RankOutcomes outcomes,
        LauncherConsole launcherConsole) {
    /// Runs the job, and returns when all its processes have exited.
    ///
    /// @return what the function returned, by rank
    ///
    /// @param codec knows the classes of the function's program, as `loader` does
    List<@Nullable Object> run(ObjectCodec codec, ClassLoader loader) {
        TerminationSignals terminationSignals = TerminationSignals.manual();
        int exitCode = await(AsyncValue.of(() -> start(terminationSignals)), terminationSignals);
        if (terminationSignals.anyReceived()) {
            throw interrupted(null);
        }
        RankOutcomes.RankFailure rankFailure = outcomes.firstFailure().orElse(null);
        if (rankFailure != null) {
            throw exception(rankFailure, loader);
        }
        if (exitCode != 0) {
            throw new LaunchException(launcherConsole.lastMessage());
        }
        return results(codec);
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
        for (int rank = 0; rank < plan.slots().size(); rank++) {
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
        try {
            return codec.decode(value);
        } catch (CodecException e) {
            throw new LaunchException(
                    "the result of rank %d on %s cannot be read: %s"
                            .formatted(rank, host, e.getMessage()),
                    e);
        }
    }

    private String host(int rank) {
        return plan.slots().get(rank).host();
    }
}
