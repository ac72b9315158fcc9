package org.horovod4j.benchmarks.training.pytorch;

import org.horovod4j.benchmarks.JitWarmUp;
import org.horovod4j.benchmarks.training.InterleavedTrainings;
import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.pytorch.HvdTorch;

import java.io.IOException;
import java.util.EnumSet;

/// Trains the MNIST network with PyTorch by Bytedeco in every [TrainingMode], and appends the times to
/// a file.
///
/// Arguments: NETWORK SIDE BATCH ROUNDS WARMUP STEPS FIRST SEED OUTPUT, see
/// [InterleavedTrainings.Options]; NETWORK is the name in the report. The benchmark starts with a
/// [JitWarmUp].
public final class TorchTrainingBenchmark {
    private static final int WARM_UP_STEPS = 100;

    private TorchTrainingBenchmark() {}

    public static void main(String[] arguments) throws IOException {
        InterleavedTrainings.Options options = InterleavedTrainings.Options.parse(arguments);
        HvdTorch.load();
        InterleavedTrainings.runJob(
                options,
                WARM_UP_STEPS,
                EnumSet.allOf(TrainingMode.class),
                (comm, mode) -> new TorchTraining(comm, mode, options.batch(), options.side()));
    }
}
