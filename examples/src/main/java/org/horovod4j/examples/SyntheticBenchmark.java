package org.horovod4j.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.compression.Compression;
import org.horovod4j.djl.HvdDjl;

import java.util.List;
import java.util.Locale;
import java.util.stream.DoubleStream;

/// Measures the images per second of a known network, with one or several processes.
///
/// This is Horovod's synthetic benchmark, with its options and its statistics. The networks are those
/// of Horovod's published results. The images are random noise, so neither disk nor input pipeline
/// affects the result.
///
/// ```
/// examples/run.sh SyntheticBenchmark --model resnet101 --batch-size 8 --num-iters 3
/// ```
public final class SyntheticBenchmark {
    private static final int CLASSES = 1000;
    private static final float LEARNING_RATE = 0.01f;

    private SyntheticBenchmark() {}

    public static void main(String[] arguments) {
        Options options = Options.parse(arguments);

        Hvd.init();
        Device device = options.noCuda() ? Device.cpu() : HvdDjl.device();
        try (Model model = Model.newInstance(options.model().option(), device)) {
            model.setBlock(options.model().block(CLASSES));
            DefaultTrainingConfig config =
                    new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                            .optOptimizer(optimizer(options, model))
                            .optDevices(new Device[] {device});
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(options.batch());
                HvdDjl.broadcastParameters(model, 0);
                measure(options, trainer);
            }
        } finally {
            Hvd.shutdown();
        }
    }

    private static Optimizer optimizer(Options options, Model model) {
        // Adasum derives the length of the step from the gradients.
        float rate = options.adasum() ? LEARNING_RATE : LEARNING_RATE * Hvd.size();
        Optimizer sgd =
                Optimizer.sgd()
                        .setLearningRateTracker(Tracker.fixed(rate))
                        .optMomentum(0.9f)
                        .build();
        return HvdDjl.distributed(
                sgd,
                model,
                settings -> {
                    if (options.fp16()) {
                        settings.compression(Compression.FP16);
                    }
                    if (options.adasum()) {
                        settings.op(ReduceOp.ADASUM);
                    }
                });
    }

    private static void measure(Options options, Trainer trainer) {
        NDManager manager = trainer.getManager();
        NDArray images = manager.randomNormal(options.batch());
        NDArray labels =
                manager.randomUniform(0, CLASSES, new Shape(options.batchSize()))
                        .toType(DataType.INT32, false)
                        .toType(DataType.FLOAT32, false);

        print(
                "%s, %d image(s) a batch, %d process(es)"
                        .formatted(options.model(), options.batchSize(), Hvd.size()));
        print("warming up: %d batch(es)".formatted(options.warmupBatches()));
        for (int batch = 0; batch < options.warmupBatches(); batch++) {
            step(trainer, images, labels);
        }

        double[] rates = new double[options.iterations()];
        for (int iteration = 0; iteration < rates.length; iteration++) {
            long start = System.nanoTime();
            for (int batch = 0; batch < options.batchesPerIteration(); batch++) {
                step(trainer, images, labels);
            }
            double seconds = (System.nanoTime() - start) * 1e-9;
            rates[iteration] = options.batchSize() * options.batchesPerIteration() / seconds;
            print(
                    "iteration %d: %s images/s on each process"
                            .formatted(iteration + 1, rounded(rates[iteration])));
        }

        // Steps end at the same time on all ranks, so rank 0 measures for all.
        double mean = DoubleStream.of(rates).average().orElseThrow();
        double spread =
                1.96
                        * deviation(
                                rates,
                                mean); // 95 % of iterations, if they are normally distributed
        print("images/s on each process: %s ± %s".formatted(rounded(mean), rounded(spread)));
        print(
                "images/s on all %d process(es): %s ± %s"
                        .formatted(
                                Hvd.size(),
                                rounded(Hvd.size() * mean),
                                rounded(Hvd.size() * spread)));
    }

    private static void step(Trainer trainer, NDArray images, NDArray labels) {
        try (NDManager scope = trainer.getManager().newSubManager()) {
            scope.tempAttachAll(images, labels); // closes the arrays of the step
            try (GradientCollector collector = trainer.newGradientCollector()) {
                NDList scores = trainer.forward(new NDList(images));
                collector.backward(trainer.getLoss().evaluate(new NDList(labels), scores));
            }
            trainer.step();
        }
    }

    private static double deviation(double[] rates, double mean) {
        return Math.sqrt(
                DoubleStream.of(rates)
                        .map(rate -> (rate - mean) * (rate - mean))
                        .average()
                        .orElse(0));
    }

    private static String rounded(double number) {
        return String.format(Locale.ROOT, "%.2f", number);
    }

    private static void print(String line) {
        if (Hvd.rank() == 0) {
            System.out.println(line);
        }
    }

    private record Options(
            BenchmarkModel model,
            int batchSize,
            int warmupBatches,
            int batchesPerIteration,
            int iterations,
            boolean fp16,
            boolean noCuda,
            boolean adasum) {
        private Shape batch() {
            return new Shape(batchSize, 3, model.pixels(), model.pixels());
        }

        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.oneOf(
                                    "--model",
                                    BenchmarkModel.RESNET50,
                                    List.of(BenchmarkModel.values()),
                                    BenchmarkModel::option),
                            given.number("--batch-size", 32, 1),
                            given.number("--num-warmup-batches", 10, 0),
                            given.number("--num-batches-per-iter", 10, 1),
                            given.number("--num-iters", 10, 1),
                            given.flag("--fp16-allreduce"),
                            given.flag("--no-cuda"),
                            given.flag("--use-adasum"));
            given.exitIfInvalid(SyntheticBenchmark.class);
            return options;
        }
    }
}
