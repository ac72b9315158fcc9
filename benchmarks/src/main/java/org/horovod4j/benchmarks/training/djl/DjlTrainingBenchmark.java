package org.horovod4j.benchmarks.training.djl;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.benchmarks.training.JitWarmUp;
import org.horovod4j.benchmarks.training.ReportNotes;
import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.optim.OverlapTiming;
import org.horovod4j.optim.overlap.Overlap;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;
import java.util.logging.Level;
import java.util.logging.Logger;

/// Trains a network with DJL on PyTorch in every [TrainingMode], and appends the times to a file.
///
/// Arguments: NETWORK SIDE BATCH ROUNDS WARMUP STEPS FIRST SEED OUTPUT. NETWORK is the
/// [NeuralNetwork], SIDE the image size in pixels, BATCH the batch size of a rank, ROUNDS the number
/// of turns of each mode, WARMUP the number of warm-up steps and STEPS the number of measured steps
/// in a turn, FIRST the number of the first round, SEED determines the order of the modes in each
/// round, and OUTPUT is the file. The benchmark starts with a [JitWarmUp].
///
/// One job measures all modes and the single-process baseline. The speed of a shared machine
/// changes by 10% from minute to minute, which is more than the cost of communication. Turns of a
/// few seconds in the same processes are affected equally.
public final class DjlTrainingBenchmark {
    private static final int ARGUMENTS = 9;

    /// A strong reference: otherwise the logger is garbage collected and loses its level.
    private static final Logger DJL_LOGGER = Logger.getLogger("ai.djl");

    private DjlTrainingBenchmark() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != ARGUMENTS) {
            throw new IllegalArgumentException(
                    "arguments are NETWORK SIDE BATCH ROUNDS WARMUP STEPS FIRST SEED OUTPUT, found "
                            + List.of(arguments));
        }
        NeuralNetwork neuralNetwork = NeuralNetwork.parse(arguments[0]);
        int side = Integer.parseInt(arguments[1]);
        int batch = Integer.parseInt(arguments[2]);
        int rounds = Integer.parseInt(arguments[3]);
        int warmUp = Integer.parseInt(arguments[4]);
        int steps = Integer.parseInt(arguments[5]);
        int first = Integer.parseInt(arguments[6]);
        Random random = new Random(Long.parseLong(arguments[7]));
        Path output = Path.of(arguments[8]);
        DJL_LOGGER.setLevel(Level.SEVERE); // DJL logs long messages if it finds no GPU

        Hvd.init();
        try {
            Communicator comm = Hvd.communicator();
            try (InterleavedTrainings interleavedTrainings =
                    new InterleavedTrainings(comm, neuralNetwork, batch, side)) {
                print(comm, "warming up");
                double compiling = interleavedTrainings.warmUp(warmUp + steps);
                print(
                        comm,
                        String.format(
                                Locale.ROOT,
                                "in the end compilers were at work for %.1f %% of the time",
                                100 * compiling));
                for (int round = 0; round < rounds; round++) {
                    print(comm, "round %d of %d".formatted(round + 1, rounds));
                    interleavedTrainings.runRound(first + round, random, warmUp, steps, output);
                }
                interleavedTrainings.check();
                interleavedTrainings
                        .overlap(TrainingMode.OVERLAP)
                        .ifPresent(overlap -> print(comm, describe(overlap.overlapTiming())));
                Optional<Overlap> chosen = interleavedTrainings.overlap(TrainingMode.DEFAULT);
                if (chosen.isPresent() && comm.rank() == 0) {
                    ReportNotes.append(output, describe(neuralNetwork, comm.size(), chosen.get()));
                }
            }
        } finally {
            Hvd.shutdown();
        }
    }

    private static void print(Communicator comm, String text) {
        if (comm.rank() == 0) {
            System.out.println(text);
        }
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
