package org.horovod4j.benchmarks.training;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.benchmarks.runtime.GradientMemory;
import org.horovod4j.benchmarks.runtime.SyntheticCompute;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;

/// Trains with [SyntheticCompute] instead of a framework, in every supported [TrainingMode], and
/// appends the times to a file.
///
/// Arguments: PLACEMENT ITERATIONS WARMUP STEPS ROUND SEED OUTPUT. PLACEMENT is the memory of the
/// gradients, ITERATIONS the iterations of [SyntheticCompute] per step, WARMUP the number of warm-up
/// steps and STEPS the number of measured steps in each mode, ROUND the number of the round, SEED
/// determines the order of the modes, and OUTPUT is the file. One job measures all
/// modes: the cost of communication is the difference between two modes, which must run in the same
/// processes.
public final class ScalingBenchmark {
    private static final int ARGUMENTS = 7;

    private ScalingBenchmark() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != ARGUMENTS) {
            throw new IllegalArgumentException(
                    "arguments are PLACEMENT ITERATIONS WARMUP STEPS ROUND SEED OUTPUT, found "
                            + List.of(arguments));
        }
        String work = arguments[0];
        GradientMemory gradientMemory = GradientMemory.valueOf(work.toUpperCase(Locale.ROOT));
        LayerCosts layerCosts = LayerCosts.of(Long.parseLong(arguments[1]));
        int warmUp = Integer.parseInt(arguments[2]);
        int steps = Integer.parseInt(arguments[3]);
        int round = Integer.parseInt(arguments[4]);
        long seed = Long.parseLong(arguments[5]);
        Path output = Path.of(arguments[6]);

        Hvd.init();
        try {
            Communicator comm = Hvd.communicator();
            SyntheticTraining training = new SyntheticTraining(comm, gradientMemory, layerCosts);
            List<TrainingMode> modes = new ArrayList<>(modes(comm.size()));
            Collections.shuffle(modes, new Random(seed + round)); // the same on all ranks
            for (TrainingMode trainingMode : modes) {
                StepTimes.measureAllRanks(comm, () -> training.step(trainingMode), warmUp, steps)
                        .appendTo(
                                output,
                                comm,
                                trainingMode,
                                work,
                                0,
                                training.gradientBytes(),
                                round);
            }
            training.verify();
        } finally {
            Hvd.shutdown();
        }
    }

    /// With one rank, the modes differ only in the cost of the optimizer, because no rank has to
    /// wait.
    private static Set<TrainingMode> modes(int size) {
        return size == 1
                ? EnumSet.of(TrainingMode.INDEPENDENT, TrainingMode.OVERLAP)
                : SyntheticTraining.MODES;
    }
}
