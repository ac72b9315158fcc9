package org.horovod4j.benchmarks.training.tensorflow;

import org.horovod4j.benchmarks.JitWarmUp;
import org.horovod4j.benchmarks.training.InterleavedTrainings;

import java.io.IOException;

/// Trains the MNIST network with TensorFlow in the modes of [TensorFlowTraining], and appends the
/// times to a file.
///
/// Arguments: NETWORK SIDE BATCH ROUNDS WARMUP STEPS FIRST SEED OUTPUT, see
/// [InterleavedTrainings.Options]; NETWORK is the name in the report. The benchmark starts with a
/// [JitWarmUp].
public final class TensorFlowTrainingBenchmark {
    private static final int WARM_UP_STEPS = 100;

    private TensorFlowTrainingBenchmark() {}

    public static void main(String[] arguments) throws IOException {
        InterleavedTrainings.Options options = InterleavedTrainings.Options.parse(arguments);
        InterleavedTrainings.runJob(
                options,
                WARM_UP_STEPS,
                TensorFlowTraining.MODES,
                (comm, mode) ->
                        new TensorFlowTraining(comm, mode, options.batch(), options.side()));
    }
}
