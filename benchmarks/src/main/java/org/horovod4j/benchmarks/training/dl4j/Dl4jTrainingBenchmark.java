package org.horovod4j.benchmarks.training.dl4j;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.benchmarks.JitWarmUp;
import org.horovod4j.benchmarks.training.InterleavedTrainings;
import org.horovod4j.benchmarks.training.TrainingMode;

import java.io.IOException;
import java.util.EnumMap;
import java.util.Map;

/// Trains the MNIST network with DL4J in the modes of [Dl4jTraining], and appends the times to a file.
///
/// Arguments: NETWORK SIDE BATCH ROUNDS WARMUP STEPS FIRST SEED OUTPUT, see
/// [InterleavedTrainings.Options]; NETWORK is the name in the report. The benchmark starts with a
/// [JitWarmUp].
public final class Dl4jTrainingBenchmark {
    private static final int WARM_UP_STEPS = 100;

    private Dl4jTrainingBenchmark() {}

    public static void main(String[] arguments) throws IOException {
        InterleavedTrainings.Options options = InterleavedTrainings.Options.parse(arguments);
        Hvd.init();
        Map<TrainingMode, Dl4jTraining> trainings = new EnumMap<>(TrainingMode.class);
        try {
            Communicator comm = Hvd.communicator();
            for (TrainingMode mode : Dl4jTraining.MODES) {
                trainings.put(mode, new Dl4jTraining(comm, mode, options.batch(), options.side()));
            }
            new InterleavedTrainings(comm, options, WARM_UP_STEPS, trainings).run();
        } finally {
            trainings.values().forEach(Dl4jTraining::close);
            Hvd.shutdown();
        }
    }
}
