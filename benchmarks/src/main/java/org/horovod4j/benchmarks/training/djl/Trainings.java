package org.horovod4j.benchmarks.training.djl;

import org.horovod4j.Communicator;
import org.horovod4j.benchmarks.training.StepTimes;
import org.horovod4j.benchmarks.training.WarmUp;
import org.horovod4j.benchmarks.training.Way;
import org.horovod4j.djl.Overlap;

import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/// One [Training] for each way, side by side in the processes of one job, which take turns.
final class Trainings implements AutoCloseable {
    /// How often steps are repeated at most to give compilers their rest.
    private static final int MOST_WARM_UPS = 40;

    private final Communicator comm;
    private final Network network;
    private final int batch;
    private final Map<Way, Training> trainings = new EnumMap<>(Way.class);

    Trainings(Communicator comm, Network network, int batch, int side) {
        this.comm = comm;
        this.network = network;
        this.batch = batch;
        for (Way way : Way.values()) {
            trainings.put(way, new Training(comm, way, network, batch, side));
        }
    }

    private Training training(Way way) {
        return Objects.requireNonNull(trainings.get(way));
    }

    /// Makes steps in every way: small ones until the JVM has compiled what they need, and then `steps`.
    ///
    /// @return the share of the time in which compilers were still at work in the end
    double warmUp(int steps) throws IOException {
        double compiling = WarmUp.of(comm).run(this::smallSteps, MOST_WARM_UPS);
        for (int step = 0; step < steps; step++) {
            trainings.values().forEach(Training::step);
        }
        return compiling;
    }

    private void smallSteps() {
        for (int step = 0; step < network.smallSteps(); step++) {
            trainings.values().forEach(Training::smallStep);
        }
    }

    /// Gives every way its turn, after one process alone has had its own. Which rank that is changes
    /// from round to round, as may the cores' speeds.
    void round(int round, int warmUp, int steps, Path output) throws IOException {
        Training alone = training(Way.ALONE);
        append(
                StepTimes.ofOne(comm, round % comm.size(), alone::step, warmUp, steps),
                Way.ALONE,
                output);
        if (comm.size() == 1) {
            append(
                    StepTimes.of(comm, training(Way.OVERLAP)::step, warmUp, steps),
                    Way.OVERLAP,
                    output);
            return;
        }
        for (Way way : Way.values()) {
            append(StepTimes.of(comm, training(way)::step, warmUp, steps), way, output);
        }
    }

    private void append(StepTimes times, Way way, Path output) throws IOException {
        long bytes = training(way).gradientBytes();
        times.appendTo(output, comm, way, network.toString(), batch, bytes);
    }

    /// Checks that the steps were made in the way that they were meant to be, and that ranks which
    /// trained together have the same weights, to the last bit.
    void check() {
        if (comm.size() == 1) {
            return;
        }
        trainings.forEach(
                (way, training) -> {
                    if (way.communicates()) {
                        training.checkOverlap();
                        List<Long> checksums =
                                comm.allgatherObject("weights " + way, training.checksum());
                        if (checksums.stream().distinct().count() != 1) {
                            throw new IllegalStateException(
                                    ("the ranks trained together (%s) and have different weights; their"
                                                    + " checksums are %s")
                                            .formatted(way, checksums));
                        }
                    }
                });
    }

    /// What the optimizer hid, or chose, in this way.
    Optional<Overlap> overlap(Way way) {
        return comm.size() == 1 ? Optional.empty() : training(way).overlap();
    }

    @Override
    public void close() {
        trainings.values().forEach(Training::close);
    }
}
