package org.horovod4j.benchmarks.training.djl;

import ai.djl.Device;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.benchmarks.training.InterleavedTrainings.Options;
import org.horovod4j.benchmarks.training.StepTimes;
import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.djl.HvdDjl;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;

/// Trains ResNet-50 with DJL on PyTorch on a GPU: with and without communication, which take turns in
/// the processes of one job.
///
/// Arguments: as of [DjlTrainingBenchmark], but NETWORK is the name of the job in the report. A job has
/// one backend.
public final class GpuTrainingBenchmark {
    private final Communicator comm;
    private final Options options;
    private final Map<TrainingMode, DjlTraining> trainings = new EnumMap<>(TrainingMode.class);

    private GpuTrainingBenchmark(Communicator comm, Options options) {
        this.comm = comm;
        this.options = options;
    }

    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);
        Hvd.init();
        try {
            Device device = HvdDjl.device();
            if (!device.isGpu()) {
                throw new IllegalStateException(
                        "engine PyTorch sees no GPU; install its libraries for CUDA, see docs/gpus.md");
            }
            new GpuTrainingBenchmark(Hvd.communicator(), options).run(device);
        } finally {
            Hvd.shutdown();
        }
    }

    private void run(Device device) throws IOException {
        try {
            for (TrainingMode mode : modes()) {
                trainings.put(
                        mode,
                        new DjlTraining(
                                comm,
                                mode,
                                NeuralNetwork.RESNET50,
                                device,
                                options.batch(),
                                options.side()));
            }
            for (DjlTraining training : trainings.values()) {
                measure(training);
            }
            Random random = new Random(options.seed());
            for (int round = 0; round < options.rounds(); round++) {
                runRound(options.first() + round, random);
            }
            check();
        } finally {
            trainings.values().forEach(DjlTraining::close);
        }
    }

    /// A single rank waits for no other rank.
    private List<TrainingMode> modes() {
        return comm.size() == 1
                ? List.of(TrainingMode.INDEPENDENT, TrainingMode.DEFAULT)
                : List.of(TrainingMode.INDEPENDENT, TrainingMode.BARRIER, TrainingMode.DEFAULT);
    }

    private void runRound(int round, Random random) throws IOException {
        List<TrainingMode> order = new ArrayList<>(trainings.keySet());
        Collections.shuffle(order, random);
        for (TrainingMode mode : order) {
            DjlTraining training = training(mode);
            measure(training)
                    .appendTo(
                            options.output(),
                            comm,
                            mode,
                            options.work(),
                            options.batch(),
                            training.gradientBytes(),
                            round);
        }
    }

    private DjlTraining training(TrainingMode mode) {
        return Objects.requireNonNull(trainings.get(mode));
    }

    private StepTimes measure(DjlTraining training) throws IOException {
        return StepTimes.measureTurn(
                comm, training::step, training::await, options.warmUp(), options.steps());
    }

    /// Ranks that trained together must have the same weights.
    private void check() {
        List<Long> checksums =
                comm.allgatherObject("weights", training(TrainingMode.DEFAULT).checksum());
        if (checksums.stream().distinct().count() != 1) {
            throw new IllegalStateException(
                    "the ranks trained together and have different weights; their checksums are %s"
                            .formatted(checksums));
        }
        if (comm.rank() == 0) {
            System.out.printf(
                    "%s: %s%n",
                    options.work(), training(TrainingMode.DEFAULT).overlap().orElseThrow());
        }
    }
}
