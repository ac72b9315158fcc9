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
    private SyntheticBenchmark() {}

    public static void main(String[] arguments) {
        Options options = Options.parse(arguments);

        Hvd.init();
        Device device = options.benchmark().noCuda() ? Device.cpu() : HvdDjl.device();
        try (Model model = Model.newInstance(options.model().option(), device)) {
            model.setBlock(options.model().block(ThroughputBenchmark.CLASSES));
            DefaultTrainingConfig config =
                    new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                            .optOptimizer(optimizer(options.benchmark(), model))
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

    private static Optimizer optimizer(ThroughputBenchmark benchmark, Model model) {
        Optimizer sgd =
                Optimizer.sgd()
                        .setLearningRateTracker(Tracker.fixed(benchmark.learningRate()))
                        .optMomentum(0.9f)
                        .build();
        return HvdDjl.distributed(
                sgd,
                model,
                settings -> {
                    if (benchmark.fp16()) {
                        settings.compression(Compression.FP16);
                    }
                    if (benchmark.adasum()) {
                        settings.op(ReduceOp.ADASUM);
                    }
                });
    }

    private static void measure(Options options, Trainer trainer) {
        NDManager manager = trainer.getManager();
        NDArray images = manager.randomNormal(options.batch());
        NDArray labels =
                manager.randomUniform(
                                0,
                                ThroughputBenchmark.CLASSES,
                                new Shape(options.benchmark().batchSize()))
                        .toType(DataType.INT32, false)
                        .toType(DataType.FLOAT32, false);
        options.benchmark().run(options.model(), () -> step(trainer, images, labels));
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

    private record Options(BenchmarkModel model, ThroughputBenchmark benchmark) {
        private Shape batch() {
            return new Shape(benchmark.batchSize(), 3, model.pixels(), model.pixels());
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
                            ThroughputBenchmark.parse(given));
            given.exitIfInvalid(SyntheticBenchmark.class);
            return options;
        }
    }
}
