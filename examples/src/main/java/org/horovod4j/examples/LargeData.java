package org.horovod4j.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Blocks;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/// Trains on data that stay in files, with several processes.
///
/// The first start writes MNIST into a folder as files of 5000 images. Each process then reads the
/// images of its own batches, while it computes: threads prepare the next batches. With `--augment`
/// they also shift the images, another way in each epoch.
///
/// ```
/// examples/run.sh LargeData [--files FOLDER] [--epochs N] [--data FOLDER] [--augment]
/// ```
public final class LargeData {
    private static final int BATCH = 64;
    private static final int TEST_BATCH = 500;
    private static final int RECORDS_PER_FILE = 5000;
    private static final int READERS = 2;
    private static final int PREFETCHED_BATCHES = 4;
    private static final float LEARNING_RATE = 0.001f;

    private LargeData() {}

    public static void main(String[] arguments) throws IOException, TranslateException {
        Options options = Options.parse(arguments);
        Hvd.init();
        writeFiles(options);
        Device device = HvdDjl.device();
        try (ExecutorService readers = Executors.newFixedThreadPool(READERS);
                Model model = Model.newInstance("digits", device);
                RecordFiles training = training(options);
                RecordFiles test = open(options, "t10k", HvdDjl.sampler(TEST_BATCH)).build()) {
            DefaultTrainingConfig config =
                    new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                            .optDevices(new Device[] {device})
                            .optExecutorService(readers);
            train(model, config, training, test, options.epochs());
        } finally {
            Hvd.shutdown();
        }
    }

    /// One rank writes, the others wait. On several hosts, the folder is one that all of them share.
    private static void writeFiles(Options options) throws IOException {
        if (Hvd.rank() == 0 && !Files.isDirectory(options.files())) {
            for (String set : new String[] {"train", "t10k"}) {
                MnistData mnistData = MnistData.read(options.data(), set);
                RecordFiles.write(mnistData, options.files().resolve(set), RECORDS_PER_FILE);
            }
        }
        Hvd.barrier();
    }

    private static RecordFiles training(Options options) throws IOException {
        ShardedSampler sampler = HvdDjl.sampler(BATCH); // this rank's part
        RecordFiles.Builder files = open(options, "train", sampler);
        if (options.augment()) {
            files.shift(() -> sampler.epoch() - 1); // the sampler tells the next one
        }
        return files.build();
    }

    private static RecordFiles.Builder open(Options options, String set, ShardedSampler sampler)
            throws IOException {
        return RecordFiles.in(options.files().resolve(set))
                .setSampling(sampler)
                .optPrefetchNumber(PREFETCHED_BATCHES);
    }

    private static void train(
            Model model,
            DefaultTrainingConfig config,
            RecordFiles training,
            RecordFiles test,
            int epochs)
            throws IOException, TranslateException {
        model.setBlock(
                new SequentialBlock()
                        .add(Blocks.batchFlattenBlock())
                        .add(Linear.builder().setUnits(128).build())
                        .add(Activation::relu)
                        .add(Linear.builder().setUnits(10).build()));
        Optimizer adam =
                Optimizer.adam()
                        .optLearningRateTracker(Tracker.fixed(LEARNING_RATE * Hvd.size()))
                        .build();
        config.addEvaluator(new Accuracy())
                .optOptimizer(HvdDjl.distributed(adam, model))
                .addTrainingListeners(new MetricAverage())
                .addTrainingListeners(TrainingListener.Defaults.basic());
        try (Trainer trainer = model.newTrainer(config)) {
            trainer.initialize(new Shape(BATCH, 1, 28, 28));
            HvdDjl.broadcastParameters(model, 0);
            EasyTrain.fit(trainer, epochs, training, test);
            if (Hvd.rank() == 0) {
                System.out.printf(
                        Locale.ROOT,
                        "test accuracy %.2f %% with %d process(es), from %d images in files%n",
                        100 * trainer.getTrainingResult().getValidateEvaluation("Accuracy"),
                        Hvd.size(),
                        training.size());
            }
        }
    }

    private record Options(Path files, int epochs, Path data, boolean augment) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.path("--files", Path.of("target", "large-data")),
                            given.number("--epochs", 2, 1),
                            given.folder("--data", MnistData.FOLDER),
                            given.flag("--augment"));
            given.exitIfInvalid(LargeData.class);
            return options;
        }
    }
}
