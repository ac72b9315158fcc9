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
import ai.djl.nn.norm.BatchNorm;
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
import org.horovod4j.djl.DistributedOptimizer;
import org.horovod4j.djl.HvdDjl;
import org.horovod4j.djl.ShardedSampler;
import org.horovod4j.djl.training.Checkpoints;
import org.horovod4j.djl.training.MetricAverage;
import org.horovod4j.djl.training.MomentumCorrection;
import org.horovod4j.djl.training.ProgressListener;
import org.horovod4j.training.Epochs;
import org.horovod4j.training.LearningRateSchedule;
import org.horovod4j.training.LearningRateWarmup;
import org.horovod4j.training.TrainingProgress;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;

/// A training that can be interrupted at any time. The next start resumes from the last checkpoint, on
/// any number of processes.
///
/// In addition to [Mnist] it has a learning rate with warm-up and decay, and checkpoints. The data are
/// in a folder: MNIST or Fashion-MNIST, which have the same files and shapes.
///
/// ```
/// NP=2 examples/run.sh FashionMnist --epochs 6        # Ctrl-C after some epochs
/// NP=4 examples/run.sh FashionMnist --epochs 6        # resumes
/// ```
public final class FashionMnist {
    private static final int BATCH = 64;
    private static final int TEST_BATCH = 500;
    private static final float LEARNING_RATE = 0.02f;
    private static final float MOMENTUM = 0.9f;
    private static final int WARMUP_EPOCHS = 1;

    private FashionMnist() {}

    public static void main(String[] arguments) throws IOException, TranslateException {
        Options options = Options.parse(arguments);

        Hvd.init();
        try (Model model = Model.newInstance("fashion-mnist", HvdDjl.device())) {
            train(model, options);
        } finally {
            Hvd.shutdown();
        }
    }

    private static void train(Model model, Options options) throws IOException, TranslateException {
        ShardedSampler sampler = HvdDjl.sampler(BATCH);
        ArrayDataset training = MnistDataset.read(options.data(), "train", model, sampler);
        ArrayDataset test =
                MnistDataset.read(options.data(), "t10k", model, HvdDjl.sampler(TEST_BATCH));
        Epochs epochs = new Epochs(sampler.stepsPerEpoch(training.size()));
        Tracker rate = rate(options, epochs);
        Optimizer sgd = Optimizer.sgd().setLearningRateTracker(rate).optMomentum(MOMENTUM).build();
        model.setBlock(network());
        DistributedOptimizer optimizer = HvdDjl.distributed(sgd, model);
        // The state for the next start: the network, the optimizer's momentum, and the epochs of
        // data
        // and learning rate.
        Checkpoints checkpoints =
                Checkpoints.in(options.checkpoints())
                        .optimizer(optimizer)
                        .sampler(sampler)
                        .epochs(epochs)
                        .best("validate_Accuracy")
                        .build();
        TrainingProgress progress =
                TrainingProgress.ofEpochs(options.epochs())
                        .stepsPerEpoch(epochs.stepsPerEpoch())
                        .build();
        DefaultTrainingConfig config =
                new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                        .addEvaluator(new Accuracy())
                        .optOptimizer(optimizer)
                        .optDevices(new Device[] {HvdDjl.device()})
                        .addTrainingListeners(
                                new MetricAverage(), new MomentumCorrection(optimizer, model, rate))
                        .addTrainingListeners(TrainingListener.Defaults.basic())
                        .addTrainingListeners(
                                checkpoints,
                                new ProgressListener(progress).learningRate(optimizer, rate));

        try (Trainer trainer = model.newTrainer(config)) {
            trainer.initialize(new Shape(BATCH, 1, 28, 28));
            int done = checkpoints.resume(trainer); // all processes get the state of rank 0
            progress.resumeAt(done);
            print(
                    "%d of %d epochs are done"
                            .formatted(Math.min(done, options.epochs()), options.epochs()));
            if (done < options.epochs()) {
                EasyTrain.fit(trainer, options.epochs() - done, training, test);
                print(
                        String.format(
                                Locale.ROOT,
                                "test accuracy %.2f %% with %d process(es); the best network is in %s",
                                100 * trainer.getTrainingResult().getValidateEvaluation("Accuracy"),
                                Hvd.size(),
                                options.checkpoints().resolve("best")));
            }
        }
    }

    /// Rises from the rate of one process to that of all in the first epoch, because the first gradients
    /// are large and inaccurate. Falls to a tenth for the last third.
    private static Tracker rate(Options options, Epochs epochs) {
        float highest = LEARNING_RATE * Hvd.size();
        int fall = Math.max(1, options.epochs() * 2 / 3);
        return LearningRateWarmup.to(highest, Hvd.size(), WARMUP_EPOCHS, epochs)
                        .then(LearningRateSchedule.of(highest, epochs).multiplyFrom(fall, 0.1))
                ::at;
    }

    private static Block network() {
        Shape two = new Shape(2, 2);
        return new SequentialBlock()
                .add(Conv2d.builder().setKernelShape(new Shape(5, 5)).setFilters(16).build())
                .add(BatchNorm.builder().build())
                .add(Activation::relu)
                .add(Pool.maxPool2dBlock(two, two))
                .add(Conv2d.builder().setKernelShape(new Shape(5, 5)).setFilters(32).build())
                .add(BatchNorm.builder().build())
                .add(Activation::relu)
                .add(Pool.maxPool2dBlock(two, two))
                .add(Blocks.batchFlattenBlock())
                .add(Linear.builder().setUnits(128).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(10).build());
    }

    private static void print(String line) {
        if (Hvd.rank() == 0) {
            System.out.println(line);
        }
    }

    private record Options(int epochs, Path data, Path checkpoints) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.number("--epochs", 6, 1),
                            given.folder("--data", MnistData.FOLDER),
                            given.path("--checkpoints", Path.of("target", "fashion-mnist")));
            given.exitIfInvalid(FashionMnist.class);
            return options;
        }
    }
}
