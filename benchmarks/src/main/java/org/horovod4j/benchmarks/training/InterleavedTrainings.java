package org.horovod4j.benchmarks.training;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.benchmarks.JitWarmUp;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.function.BiFunction;

/// One [NetworkTraining] for each mode. They take turns in the processes of one job.
///
/// One job measures all modes and the single-process baseline. The speed of a shared machine
/// changes by 10% from minute to minute, which is more than the cost of communication. Turns of a
/// few seconds in the same processes are affected equally.
public final class InterleavedTrainings {
    /// The maximum number of repetitions until the JIT compilers are idle.
    private static final int MAX_WARM_UPS = 40;

    private final Communicator comm;
    private final Options options;
    private final int warmUpSteps;
    private final Map<TrainingMode, NetworkTraining> trainings;

    /// The options of a job, as a script gives them.
    ///
    /// @param work what is trained, in reports
    /// @param side the image size in pixels
    /// @param batch the batch size of a rank
    /// @param rounds the number of turns of each mode
    /// @param warmUp the number of warm-up steps in a turn
    /// @param steps the number of measured steps in a turn
    /// @param first the number of the first round
    /// @param seed determines the order of the modes in each round
    /// @param output the file of results
    public record Options(
            String work,
            int side,
            int batch,
            int rounds,
            int warmUp,
            int steps,
            int first,
            long seed,
            Path output) {
        private static final int COUNT = 9;

        /// Reads the arguments of a program.
        ///
        /// @throws IllegalArgumentException for another number of arguments
        public static Options parse(String[] arguments) {
            if (arguments.length != COUNT) {
                throw new IllegalArgumentException(
                        "arguments are NETWORK SIDE BATCH ROUNDS WARMUP STEPS FIRST SEED OUTPUT, found "
                                + List.of(arguments));
            }
            return new Options(
                    arguments[0],
                    Integer.parseInt(arguments[1]),
                    Integer.parseInt(arguments[2]),
                    Integer.parseInt(arguments[3]),
                    Integer.parseInt(arguments[4]),
                    Integer.parseInt(arguments[5]),
                    Integer.parseInt(arguments[6]),
                    Long.parseLong(arguments[7]),
                    Path.of(arguments[8]));
        }
    }

    /// @param warmUpSteps the number of warm-up steps that take a few seconds in every mode
    /// @param trainings [TrainingMode#INDEPENDENT] and a mode that communicates are among them
    public InterleavedTrainings(
            Communicator comm,
            Options options,
            int warmUpSteps,
            Map<TrainingMode, ? extends NetworkTraining> trainings) {
        this.comm = comm;
        this.options = options;
        this.warmUpSteps = warmUpSteps;
        this.trainings = new EnumMap<>(trainings);
    }

    /// Joins the ranks, creates a training for each mode, and measures all rounds.
    ///
    /// @param warmUpSteps the number of warm-up steps that take a few seconds in every mode
    /// @param modes [TrainingMode#INDEPENDENT] and [TrainingMode#OVERLAP] are among them
    public static void runJob(
            Options options,
            int warmUpSteps,
            Set<TrainingMode> modes,
            BiFunction<Communicator, TrainingMode, NetworkTraining> create)
            throws IOException {
        Hvd.init();
        Map<TrainingMode, NetworkTraining> trainings = new EnumMap<>(TrainingMode.class);
        try {
            Communicator comm = Hvd.communicator();
            for (TrainingMode mode : modes) {
                trainings.put(mode, create.apply(comm, mode));
            }
            new InterleavedTrainings(comm, options, warmUpSteps, trainings).run();
        } finally {
            trainings.values().forEach(NetworkTraining::close);
            Hvd.shutdown();
        }
    }

    private NetworkTraining training(TrainingMode trainingMode) {
        return Objects.requireNonNull(trainings.get(trainingMode));
    }

    /// Measures all rounds, then checks that steps ran in the right mode, and that ranks which
    /// trained together have bitwise equal weights.
    public void run() throws IOException {
        print("warming up");
        double compiling = warmUp(options.warmUp() + options.steps());
        print(
                String.format(
                        Locale.ROOT,
                        "in the end compilers were at work for %.1f %% of the time",
                        100 * compiling));
        Random random = new Random(options.seed());
        for (int round = 0; round < options.rounds(); round++) {
            print("round %d of %d".formatted(round + 1, options.rounds()));
            runRound(options.first() + round, random);
        }
        check();
    }

    /// Prints a line on rank 0.
    public void print(String text) {
        if (comm.rank() == 0) {
            System.out.println(text);
        }
    }

    /// Runs steps in every mode: small steps until the JVM has compiled the code, then `steps` full
    /// steps.
    ///
    /// @return the share of the time in which compilers were still active at the end
    private double warmUp(int steps) throws IOException {
        double compiling = JitWarmUp.of(comm).run(this::runWarmUpSteps, MAX_WARM_UPS);
        for (int step = 0; step < steps; step++) {
            trainings.values().forEach(NetworkTraining::step);
        }
        return compiling;
    }

    private void runWarmUpSteps() {
        for (int step = 0; step < warmUpSteps; step++) {
            trainings.values().forEach(NetworkTraining::warmUpStep);
        }
    }

    /// Measures one rank alone, then every mode. The rank that runs alone changes from round to
    /// round, because cores may differ in speed. The order of the modes changes too: it depends on
    /// `random`, which is the same on all ranks.
    private void runRound(int round, Random random) throws IOException {
        NetworkTraining alone = training(TrainingMode.INDEPENDENT);
        append(
                StepTimes.measureOneRank(
                        comm, round % comm.size(), alone::step, options.warmUp(), options.steps()),
                TrainingMode.INDEPENDENT,
                round);
        List<TrainingMode> order =
                new ArrayList<>(comm.size() == 1 ? modesOfOneRank() : trainings.keySet());
        Collections.shuffle(order, random);
        for (TrainingMode trainingMode : order) {
            append(
                    StepTimes.measureAllRanks(
                            comm, training(trainingMode)::step, options.warmUp(), options.steps()),
                    trainingMode,
                    round);
        }
    }

    /// What the wrapped optimizer costs: modes that communicate are the same on one rank.
    private List<TrainingMode> modesOfOneRank() {
        return trainings.keySet().stream()
                .filter(TrainingMode::communicates)
                .filter(trainingMode -> trainingMode != TrainingMode.ALLREDUCE)
                .limit(1)
                .toList();
    }

    private void append(StepTimes times, TrainingMode trainingMode, int round) throws IOException {
        times.appendTo(
                options.output(),
                comm,
                trainingMode,
                options.work(),
                options.batch(),
                training(trainingMode).gradientBytes(),
                round);
    }

    private void check() {
        if (comm.size() == 1) {
            return;
        }
        trainings.forEach(
                (trainingMode, training) -> {
                    if (trainingMode.communicates()) {
                        training.checkMode();
                        List<Long> checksums =
                                comm.allgatherObject(
                                        "weights " + trainingMode, training.checksum());
                        if (checksums.stream().distinct().count() != 1) {
                            throw new IllegalStateException(
                                    ("the ranks trained together (%s) and have different weights; their"
                                                    + " checksums are %s")
                                            .formatted(trainingMode, checksums));
                        }
                    }
                });
    }
}
