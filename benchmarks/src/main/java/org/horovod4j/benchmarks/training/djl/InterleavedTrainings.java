package org.horovod4j.benchmarks.training.djl;

import org.horovod4j.Communicator;
import org.horovod4j.benchmarks.training.JitWarmUp;
import org.horovod4j.benchmarks.training.StepTimes;
import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.optim.overlap.Overlap;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;

/// One [DjlTraining] for each mode. They take turns in the processes of one job.
final class InterleavedTrainings implements AutoCloseable {
    /// The maximum number of repetitions until the JIT compilers are idle.
    private static final int MAX_WARM_UPS = 40;

    private final Communicator comm;
    private final NeuralNetwork neuralNetwork;
    private final int batch;
    private final Map<TrainingMode, DjlTraining> trainings = new EnumMap<>(TrainingMode.class);

    InterleavedTrainings(Communicator comm, NeuralNetwork neuralNetwork, int batch, int side) {
        this.comm = comm;
        this.neuralNetwork = neuralNetwork;
        this.batch = batch;
        for (TrainingMode trainingMode : TrainingMode.values()) {
            trainings.put(
                    trainingMode, new DjlTraining(comm, trainingMode, neuralNetwork, batch, side));
        }
    }

    private DjlTraining training(TrainingMode trainingMode) {
        return Objects.requireNonNull(trainings.get(trainingMode));
    }

    /// Runs steps in every mode: small steps until the JVM has compiled the code, then `steps` full
    /// steps.
    ///
    /// @return the share of the time in which compilers were still active at the end
    double warmUp(int steps) throws IOException {
        double compiling = JitWarmUp.of(comm).run(this::runWarmUpSteps, MAX_WARM_UPS);
        for (int step = 0; step < steps; step++) {
            trainings.values().forEach(DjlTraining::step);
        }
        return compiling;
    }

    private void runWarmUpSteps() {
        for (int step = 0; step < neuralNetwork.warmUpSteps(); step++) {
            trainings.values().forEach(DjlTraining::warmUpStep);
        }
    }

    /// Measures one rank alone, then every mode. The rank that runs alone changes from round to
    /// round, because cores may differ in speed. The order of the modes changes too: it depends on
    /// `random`, which is the same on all ranks.
    void runRound(int round, Random random, int warmUp, int steps, Path output) throws IOException {
        DjlTraining alone = training(TrainingMode.INDEPENDENT);
        append(
                StepTimes.measureOneRank(comm, round % comm.size(), alone::step, warmUp, steps),
                TrainingMode.INDEPENDENT,
                round,
                output);
        if (comm.size() == 1) {
            append(
                    StepTimes.measureAllRanks(
                            comm, training(TrainingMode.OVERLAP)::step, warmUp, steps),
                    TrainingMode.OVERLAP,
                    round,
                    output);
            return;
        }
        List<TrainingMode> order = Arrays.asList(TrainingMode.values());
        Collections.shuffle(order, random);
        for (TrainingMode trainingMode : order) {
            append(
                    StepTimes.measureAllRanks(comm, training(trainingMode)::step, warmUp, steps),
                    trainingMode,
                    round,
                    output);
        }
    }

    private void append(StepTimes times, TrainingMode trainingMode, int round, Path output)
            throws IOException {
        long bytes = training(trainingMode).gradientBytes();
        times.appendTo(output, comm, trainingMode, neuralNetwork.toString(), batch, bytes, round);
    }

    /// Checks that the steps ran in the right mode, and that ranks which trained together have
    /// bitwise equal weights.
    void check() {
        if (comm.size() == 1) {
            return;
        }
        trainings.forEach(
                (trainingMode, djlTraining) -> {
                    if (trainingMode.communicates()) {
                        djlTraining.checkOverlap();
                        List<Long> checksums =
                                comm.allgatherObject(
                                        "weights " + trainingMode, djlTraining.checksum());
                        if (checksums.stream().distinct().count() != 1) {
                            throw new IllegalStateException(
                                    ("the ranks trained together (%s) and have different weights; their"
                                                    + " checksums are %s")
                                            .formatted(trainingMode, checksums));
                        }
                    }
                });
    }

    /// The overlap, or the optimizer's choice, in this mode.
    Optional<Overlap> overlap(TrainingMode trainingMode) {
        return comm.size() == 1 ? Optional.empty() : training(trainingMode).overlap();
    }

    @Override
    public void close() {
        trainings.values().forEach(DjlTraining::close);
    }
}
