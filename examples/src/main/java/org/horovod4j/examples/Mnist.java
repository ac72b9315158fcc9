package org.horovod4j.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.convolutional.Conv2d;
import ai.djl.nn.core.Linear;
import ai.djl.nn.pooling.Pool;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.TranslateException;

import org.horovod4j.Hvd;
import org.horovod4j.djl.HvdDjl;
import org.horovod4j.djl.ShardedSampler;
import org.horovod4j.djl.training.MetricAverage;
import org.horovod4j.djl.training.ProgressListener;
import org.horovod4j.training.TrainingProgress;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;

/// Trains a network on handwritten digits with DJL, on several processes.
///
/// Every process has the whole network and its own part of the images. After each batch the processes
/// average their gradients, so all of them make the same step: training on two processes equals
/// training with batches twice as large. The lines that distributed training adds to a DJL program are
/// marked `Horovod 1` to `Horovod 6`.
///
/// ```
/// examples/mnist.sh [--epochs N] [--data FOLDER] [--model FOLDER]
/// ```
public final class Mnist {
    private static final int BATCH = 64;
    private static final int TEST_BATCH = 500;
    private static final float LEARNING_RATE = 0.001f;

    private Mnist() {}

    public static void main(String[] arguments) throws IOException, TranslateException {
        Options options = Options.parse(arguments);

        // Horovod 1: join the other processes. Without a launcher, this process is the whole job.
        Hvd.init();
        // Horovod 2: each process of a host uses its own device.
        Device device = HvdDjl.device();
        try (Model model = Model.newInstance("mnist", device)) {
            train(model, device, options);
        } finally {
            Hvd.shutdown();
        }
    }

    private static void train(Model model, Device device, Options options)
            throws IOException, TranslateException {
        // Each process gets its part of the images, shuffled in each epoch.
        ShardedSampler sampler = HvdDjl.sampler(BATCH);
        ArrayDataset training = MnistDataset.read(options.data(), "train", model, sampler);
        ArrayDataset test =
                MnistDataset.read(options.data(), "t10k", model, HvdDjl.sampler(TEST_BATCH));
        int steps = sampler.stepsPerEpoch(training.size());

        // Horovod 3: n processes average over n times as many images, so the learning rate is
        // n times as large.
        Tracker rate =
                Tracker.cosine()
                        .setBaseValue(LEARNING_RATE * Hvd.size())
                        .optFinalValue(0)
                        .setMaxUpdates(options.epochs() * steps)
                        .build();
        Optimizer adam = Optimizer.adam().optLearningRateTracker(rate).build();
        model.setBlock(network());
        DefaultTrainingConfig config =
                new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                        .addEvaluator(new Accuracy())
                        // Horovod 4: average the gradients of all processes in each step.
                        .optOptimizer(HvdDjl.distributed(adam, model))
                        .optDevices(new Device[] {device})
                        // Loss and accuracy become those of all processes.
                        .addTrainingListeners(new MetricAverage())
                        .addTrainingListeners(TrainingListener.Defaults.basic())
                        .addTrainingListeners(
                                new ProgressListener(
                                        TrainingProgress.ofEpochs(options.epochs())
                                                .stepsPerEpoch(steps)
                                                .build()));

        try (Trainer trainer = model.newTrainer(config)) {
            trainer.initialize(new Shape(BATCH, 1, 28, 28));
            // Horovod 5: all processes start with the parameters of rank 0.
            HvdDjl.broadcastParameters(model, 0);

            EasyTrain.fit(trainer, options.epochs(), training, test);

            // Horovod 6: only rank 0 writes files.
            if (Hvd.rank() == 0) {
                model.save(options.model(), "mnist");
                report(trainer, options);
            }
        }
    }

    private static void report(Trainer trainer, Options options) {
        System.out.printf(
                Locale.ROOT,
                "test accuracy %.2f %% with %d process(es); the network is in %s%n",
                100 * trainer.getTrainingResult().getValidateEvaluation("Accuracy"),
                Hvd.size(),
                options.model());
        String timeline = System.getenv("HOROVOD_TIMELINE");
        if (timeline != null) {
            System.out.println(
                    "what became of each gradient: open "
                            + timeline
                            + " with https://ui.perfetto.dev");
        }
    }

    /// Two convolutional layers with kernels of 5 by 5 pixels, and two fully connected layers.
    private static Block network() {
        Shape two = new Shape(2, 2);
        return new SequentialBlock()
                .add(Conv2d.builder().setKernelShape(new Shape(5, 5)).setFilters(16).build())
                .add(Activation::relu)
                .add(Pool.maxPool2dBlock(two, two))
                .add(Conv2d.builder().setKernelShape(new Shape(5, 5)).setFilters(32).build())
                .add(Activation::relu)
                .add(Pool.maxPool2dBlock(two, two))
                .add(Blocks.batchFlattenBlock())
                .add(Linear.builder().setUnits(128).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(10).build());
    }

    private record Options(int epochs, Path data, Path model) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.number("--epochs", 3, 1),
                            given.folder("--data", MnistData.FOLDER),
                            given.path("--model", Path.of("target", "mnist")));
            given.exitIfInvalid(Mnist.class);
            return options;
        }
    }
}
