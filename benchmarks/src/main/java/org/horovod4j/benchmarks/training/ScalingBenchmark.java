package org.horovod4j.benchmarks.training;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.benchmarks.runtime.GradientMemory;
import org.horovod4j.benchmarks.runtime.SyntheticCompute;

import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/// Trains with a kernel of our own in place of a framework, in every [TrainingMode] that it can, and appends the times to a
/// file.
///
/// Arguments: PLACEMENT ROUNDS WARMUP STEPS OUTPUT, that is where the gradients lie, the rounds of
/// [SyntheticCompute] in a step, the steps that do not count and those that do, in each mode, and the file.
/// One job measures all modes: what communication costs is the difference between two of them, which
/// must come from the same processes.
public final class ScalingBenchmark {
    private static final int ARGUMENTS = 5;

    private ScalingBenchmark() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != ARGUMENTS) {
            throw new IllegalArgumentException(
                    "arguments are PLACEMENT ROUNDS WARMUP STEPS OUTPUT, found "
                            + List.of(arguments));
        }
        String work = arguments[0];
        GradientMemory gradientMemory = GradientMemory.valueOf(work.toUpperCase(Locale.ROOT));
        LayerCosts layerCosts = LayerCosts.of(Long.parseLong(arguments[1]));
        int warmUp = Integer.parseInt(arguments[2]);
        int steps = Integer.parseInt(arguments[3]);
        Path output = Path.of(arguments[4]);

        Hvd.init();
        try {
            Communicator comm = Hvd.communicator();
            SyntheticTraining training = new SyntheticTraining(comm, gradientMemory, layerCosts);
            for (TrainingMode trainingMode : modes(comm.size())) {
                StepTimes.measureAllRanks(comm, () -> training.step(trainingMode), warmUp, steps)
                        .appendTo(output, comm, trainingMode, work, 0, training.gradientBytes());
            }
            training.verify();
        } finally {
            Hvd.shutdown();
        }
    }

    /// One rank has nobody to wait for, so its steps differ in nothing but what the optimizer costs.
    private static Set<TrainingMode> modes(int size) {
        return size == 1
                ? EnumSet.of(TrainingMode.INDEPENDENT, TrainingMode.OVERLAP)
                : SyntheticTraining.MODES;
    }
}
