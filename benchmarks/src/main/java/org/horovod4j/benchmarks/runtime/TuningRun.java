package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/// Runs steps until the autotuner has saved its result. [RuntimeBenchmark] then starts with that
/// tuning: a search takes hundreds of steps, whose times do not represent the tuned state.
///
/// Arguments: VARIANT WORKLOAD FILE. VARIANT is the [StepVariant], WORKLOAD the [Workload], and
/// FILE the file that `HOROVOD_AUTOTUNE_FILE` names.
public final class TuningRun {
    private static final int ARGUMENTS = 3;

    /// Several samples of the autotuner. The autotuner ignores the steps in which the ranks
    /// exchange whether to continue.
    private static final int BLOCK_STEPS = 100;

    /// About ten times the length of a search.
    private static final int STEPS_MAX = 5_000;

    private TuningRun() {}

    public static void main(String[] arguments) {
        if (arguments.length != ARGUMENTS) {
            throw new IllegalArgumentException(
                    "arguments are VARIANT WORKLOAD FILE, found " + List.of(arguments));
        }
        StepVariant stepVariant = StepVariant.parse(arguments[0]);
        Workload workload = Workload.valueOf(arguments[1].toUpperCase(Locale.ROOT));
        Path file = Path.of(arguments[2]);

        Hvd.init();
        try {
            Communicator comm = Hvd.communicator();
            SyntheticGradients syntheticGradients =
                    SyntheticGradients.allocate(comm, stepVariant.memory(), workload.parameters());
            int steps = 0;
            while (!isSaved(comm, file)) {
                if (steps >= STEPS_MAX) {
                    throw new IllegalStateException(
                            "after %d steps the autotuner has saved nothing to %s"
                                    .formatted(steps, file));
                }
                for (int i = 0; i < BLOCK_STEPS; i++) {
                    syntheticGradients.allreduceAsync(() -> {});
                }
                steps += BLOCK_STEPS;
            }
        } finally {
            Hvd.shutdown();
        }
    }

    /// The result is the same on all ranks, although they may see the file at different times.
    private static boolean isSaved(Communicator comm, Path file) {
        double[] saved = {Files.exists(file) ? 1 : 0};
        comm.allreduce("saved", saved, ReduceOp.MIN);
        return saved[0] == 1;
    }
}
