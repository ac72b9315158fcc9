package org.horovod4j.examples;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ModelNotFoundException;
import ai.djl.repository.zoo.ZooModel;
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
import org.horovod4j.djl.training.MetricAverage;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;

/// Trains a network further that was made and trained with PyTorch in Python, and saved as TorchScript.
///
/// The network knows the digits 0 to 4. The program adds a layer for ten digits and trains both on all
/// digits, with several processes.
///
/// ```
/// examples/run.sh FineTune [--network FILE] [--epochs N] [--freeze] [--data FOLDER]
/// ```
public final class FineTune {
    private static final int BATCH = 64;
    private static final int TEST_BATCH = 500;
    private static final int DIGITS = 10;
    private static final float LEARNING_RATE = 0.001f;

    private FineTune() {}

    public static void main(String[] arguments)
            throws IOException,
                    ModelNotFoundException,
                    MalformedModelException,
                    TranslateException {
        Options options = Options.parse(arguments);
        Hvd.init();
        Device device = HvdDjl.device();
        Criteria<NDList, NDList> torchScript =
                Criteria.builder()
                        .setTypes(NDList.class, NDList.class)
                        .optModelPath(options.network())
                        .optEngine("PyTorch")
                        .optDevice(device)
                        .optOption("trainParam", "true") // DJL freezes TorchScript otherwise
                        .build();
        try (ZooModel<NDList, NDList> features = torchScript.loadModel();
                Model model = Model.newInstance("digits", device)) {
            // A frozen network is a fixed function: only the new layer learns.
            features.getBlock().freezeParameters(options.freeze());
            model.setBlock(network(features.getBlock()));
            train(model, device, options);
        } finally {
            Hvd.shutdown();
        }
    }

    private static Block network(Block features) {
        return new SequentialBlock().add(features).add(Linear.builder().setUnits(DIGITS).build());
    }

    private static void train(Model model, Device device, Options options)
            throws IOException, TranslateException {
        ArrayDataset training =
                MnistDataset.read(options.data(), "train", model, HvdDjl.sampler(BATCH));
        ArrayDataset test =
                MnistDataset.read(options.data(), "t10k", model, HvdDjl.sampler(TEST_BATCH));
        Optimizer adam =
                Optimizer.adam()
                        .optLearningRateTracker(Tracker.fixed(LEARNING_RATE * Hvd.size()))
                        .build();
        DefaultTrainingConfig config =
                new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                        .addEvaluator(new Accuracy())
                        .optOptimizer(HvdDjl.distributed(adam, model))
                        .optDevices(new Device[] {device})
                        .addTrainingListeners(new MetricAverage())
                        .addTrainingListeners(TrainingListener.Defaults.basic());
        try (Trainer trainer = model.newTrainer(config)) {
            trainer.initialize(new Shape(BATCH, 1, 28, 28));
            HvdDjl.broadcastParameters(model, 0);
            EasyTrain.fit(trainer, options.epochs(), training, test);
            if (Hvd.rank() == 0) {
                System.out.printf(
                        Locale.ROOT,
                        "test accuracy %.2f %% with %d process(es)%n",
                        100 * trainer.getTrainingResult().getValidateEvaluation("Accuracy"),
                        Hvd.size());
            }
        }
    }

    private record Options(Path network, int epochs, boolean freeze, Path data) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.file(
                                    "--network",
                                    Path.of("examples", "data", "torchscript", "features.pt")),
                            given.number("--epochs", 1, 1),
                            given.flag("--freeze"),
                            given.folder("--data", MnistData.FOLDER));
            given.exitIfInvalid(FineTune.class);
            return options;
        }
    }
}
