package org.horovod4j.benchmarks.training.djl;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.benchmarks.training.StepTimes;
import org.horovod4j.benchmarks.training.Way;
import org.horovod4j.optim.Timing;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.logging.Level;
import java.util.logging.Logger;

/// Trains a network with DJL on PyTorch, in one [Way], and appends the times to a file.
///
/// Arguments: WAY NETWORK SIDE BATCH WARMUP STEPS OUTPUT, that is the way, the [Network], the side of
/// its images in pixels and how many of them a rank has in a step, the steps that do not count and
/// those that do, and the file. One job measures one way, as a training program would have it.
public final class TrainingBenchmark {
    private static final int ARGUMENTS = 7;

    /// Kept, since a logger that nobody holds forgets its level.
    private static final Logger DJL = Logger.getLogger("ai.djl");

    private TrainingBenchmark() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != ARGUMENTS) {
            throw new IllegalArgumentException(
                    "arguments are WAY NETWORK SIDE BATCH WARMUP STEPS OUTPUT, found "
                            + List.of(arguments));
        }
        Way way = Way.parse(arguments[0]);
        Network network = Network.parse(arguments[1]);
        int side = Integer.parseInt(arguments[2]);
        int batch = Integer.parseInt(arguments[3]);
        int warmUp = Integer.parseInt(arguments[4]);
        int steps = Integer.parseInt(arguments[5]);
        Path output = Path.of(arguments[6]);
        DJL.setLevel(Level.SEVERE); // it looks for GPUs and says at length that there are none

        Hvd.init();
        try {
            Communicator comm = Hvd.communicator();
            try (Training training = new Training(comm, way, network, batch, side)) {
                StepTimes times = StepTimes.of(comm, training::step, warmUp, steps);
                if (comm.size() > 1 && way.communicates()) {
                    training.checkOverlap();
                    verify(comm, training);
                    tell(comm, training);
                }
                times.appendTo(
                        output, comm, way, network.toString(), batch, training.gradientBytes());
            }
        } finally {
            Hvd.shutdown();
        }
    }

    /// What the optimizer itself knows of its overlap.
    private static void tell(Communicator comm, Training training) {
        if (comm.rank() == 0) {
            training.overlap().ifPresent(overlap -> System.out.println(describe(overlap.timing())));
        }
    }

    static String describe(Timing timing) {
        return String.format(
                Locale.ROOT,
                "%d of %d gradients launched by backward passes; in a step at most %.1f ms hidden, %.1f ms"
                        + " exposed",
                timing.launchedByPasses(),
                timing.launchedByPasses() + timing.launchedBySteps(),
                timing.hiddenPerStep().toNanos() * 1e-6,
                timing.exposedPerStep().toNanos() * 1e-6);
    }

    /// Ranks that trained together have the same weights, to the last bit.
    private static void verify(Communicator comm, Training training) {
        List<Long> checksums = comm.allgatherObject("weights", training.checksum());
        if (checksums.stream().distinct().count() != 1) {
            throw new IllegalStateException(
                    "the ranks trained together and have different weights; their checksums are "
                            + checksums);
        }
    }
}
