package org.horovod4j.benchmarks.training.djl;

import ai.djl.Device;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.benchmarks.JitWarmUp;
import org.horovod4j.benchmarks.training.InterleavedTrainings;
import org.horovod4j.benchmarks.training.ReportNotes;
import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.optim.OverlapTiming;
import org.horovod4j.optim.overlap.Overlap;

import java.io.IOException;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;

/// Trains a network with DJL on PyTorch in every [TrainingMode], and appends the times to a file.
///
/// Arguments: NETWORK SIDE BATCH ROUNDS WARMUP STEPS FIRST SEED OUTPUT, see
/// [InterleavedTrainings.Options]; NETWORK is the [NeuralNetwork]. The benchmark starts with a
/// [JitWarmUp].
public final class DjlTrainingBenchmark {
    /// A strong reference: otherwise the logger is garbage collected and loses its level.
    private static final Logger DJL_LOGGER = Logger.getLogger("ai.djl");

    private DjlTrainingBenchmark() {}

    public static void main(String[] arguments) throws IOException {
        InterleavedTrainings.Options options = InterleavedTrainings.Options.parse(arguments);
        NeuralNetwork neuralNetwork = NeuralNetwork.parse(options.work());
        DJL_LOGGER.setLevel(Level.SEVERE); // DJL logs long messages if it finds no GPU

        Hvd.init();
        Map<TrainingMode, DjlTraining> trainings = new EnumMap<>(TrainingMode.class);
        try {
            Communicator comm = Hvd.communicator();
            for (TrainingMode mode : TrainingMode.values()) {
                trainings.put(
                        mode,
                        new DjlTraining(
                                comm,
                                mode,
                                neuralNetwork,
                                Device.cpu(),
                                options.batch(),
                                options.side()));
            }
            InterleavedTrainings interleaved =
                    new InterleavedTrainings(comm, options, neuralNetwork.warmUpSteps(), trainings);
            interleaved.run();
            if (comm.size() > 1) {
                overlap(trainings, TrainingMode.OVERLAP)
                        .ifPresent(overlap -> interleaved.print(describe(overlap.overlapTiming())));
                Optional<Overlap> chosen = overlap(trainings, TrainingMode.DEFAULT);
                if (chosen.isPresent() && comm.rank() == 0) {
                    ReportNotes.append(
                            options.output(), describe(neuralNetwork, comm.size(), chosen.get()));
                }
            }
        } finally {
            trainings.values().forEach(DjlTraining::close);
            Hvd.shutdown();
        }
    }

    /// The overlap, or the optimizer's choice, in this mode.
    private static Optional<Overlap> overlap(
            Map<TrainingMode, DjlTraining> trainings, TrainingMode mode) {
        return Optional.ofNullable(trainings.get(mode)).flatMap(DjlTraining::overlap);
    }

    /// The optimizer's choice in the default mode.
    static String describe(NeuralNetwork neuralNetwork, int ranks, Overlap chosen) {
        return "%s, %d ranks: %s"
                .formatted(
                        neuralNetwork,
                        ranks,
                        chosen.isUsed() ? "`overlap`" : "`end`, as " + chosen.reason());
    }

    /// The overlap that the optimizer has measured.
    static String describe(OverlapTiming overlapTiming) {
        return String.format(
                Locale.ROOT,
                "%d of %d gradients launched by backward passes; in a step at most %.1f ms hidden, %.1f ms"
                        + " exposed",
                overlapTiming.launchedByPasses(),
                overlapTiming.launchedByPasses() + overlapTiming.launchedBySteps(),
                overlapTiming.hiddenPerStep().toNanos() * 1e-6,
                overlapTiming.exposedPerStep().toNanos() * 1e-6);
    }
}
