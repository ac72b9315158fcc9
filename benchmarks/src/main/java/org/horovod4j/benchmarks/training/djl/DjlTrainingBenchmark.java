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
import java.util.logging.Level;
import java.util.logging.Logger;

/// Trains a network with DJL on PyTorch in every [TrainingMode], and appends the times to a file.
///
/// Arguments: NETWORK SIDE BATCH ROUNDS WARMUP STEPS OUTPUT, that is the [NeuralNetwork], the side of its
/// images in pixels and how many of them a rank has in a step, how often each mode takes its turn, the
/// steps of a turn that do not count and those that do, and the file. First come steps that do not
/// count, until the compilers of the JVM rest ([JitWarmUp]).
///
/// One job measures all modes, and the process alone too: a machine that others use as well is a tenth
/// faster or slower from one minute to the next, which is more than what communication costs. Turns of
/// some seconds in the same processes have that in common.
public final class DjlTrainingBenchmark {
    private static final int ARGUMENTS = 7;

    /// Kept, since a logger that nobody holds forgets its level.
    private static final Logger DJL_LOGGER = Logger.getLogger("ai.djl");

    private DjlTrainingBenchmark() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != ARGUMENTS) {
            throw new IllegalArgumentException(
                    "arguments are NETWORK SIDE BATCH ROUNDS WARMUP STEPS OUTPUT, found "
                            + List.of(arguments));
        }
        NeuralNetwork neuralNetwork = NeuralNetwork.parse(arguments[0]);
        int side = Integer.parseInt(arguments[1]);
        int batch = Integer.parseInt(arguments[2]);
        int rounds = Integer.parseInt(arguments[3]);
        int warmUp = Integer.parseInt(arguments[4]);
        int steps = Integer.parseInt(arguments[5]);
        Path output = Path.of(arguments[6]);
        DJL_LOGGER.setLevel(
                Level.SEVERE); // it looks for GPUs and says at length that there are none

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
                for (int round = 1; round <= rounds; round++) {
                    print(comm, "round %d of %d".formatted(round, rounds));
                    interleavedTrainings.runRound(round, warmUp, steps, output);
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

    /// What the optimizer chose where nothing was said.
    static String describe(NeuralNetwork neuralNetwork, int ranks, Overlap chosen) {
        return "%s, %d ranks: %s"
                .formatted(
                        neuralNetwork,
                        ranks,
                        chosen.isUsed() ? "`overlap`" : "`end`, as " + chosen.reason());
    }

    /// What the optimizer itself knows of its overlap.
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
