package org.horovod4j.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.TranslateException;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.djl.DistributedOptimizer;
import org.horovod4j.djl.HvdDjl;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;

/// A training loop by hand, for batches that do not fit into memory and for exploding gradients.
///
/// - *Accumulate*: several backward passes add up their gradients, and only the last one starts the
///   exchange. The step equals that of one large batch.
/// - *Clip*: gradients with a norm above a limit are scaled down to it. The norm is that of the average
///   over all processes, so the program waits for the average, clips, and makes the step without a
///   second exchange.
///
/// ```
/// examples/run.sh AccumulateAndClip [--passes N] [--limit X] [--epochs N] [--data FOLDER]
/// ```
public final class AccumulateAndClip {
    private static final int BATCH = 16;
    private static final float LEARNING_RATE = 0.02f;

    private final Trainer trainer;
    private final DistributedOptimizer optimizer;
    private final Options options;
    // Counted over all epochs: the last passes of one may belong to a step of the next.
    private int passes;
    private int steps;
    private int clipped;

    private AccumulateAndClip(Trainer trainer, DistributedOptimizer optimizer, Options options) {
        this.trainer = trainer;
        this.optimizer = optimizer;
        this.options = options;
    }

    public static void main(String[] arguments) throws IOException, TranslateException {
        Options options = Options.parse(arguments);

        Hvd.init();
        try (Model model = Model.newInstance("digits", HvdDjl.device())) {
            train(model, options);
        } finally {
            Hvd.shutdown();
        }
    }

    private static void train(Model model, Options options) throws IOException, TranslateException {
        model.setBlock(network());
        ArrayDataset training =
                MnistDataset.read(options.data(), "train", model, HvdDjl.sampler(BATCH));
        // Passes make the batch of a step larger, like processes.
        float rate = LEARNING_RATE * options.passes() * Hvd.size();
        Optimizer sgd = Optimizer.sgd().setLearningRateTracker(Tracker.fixed(rate)).build();
        DistributedOptimizer optimizer =
                HvdDjl.distributed(
                        sgd,
                        model,
                        settings ->
                                settings.backwardPassesPerStep(options.passes())
                                        .averageAccumulated(true));
        DefaultTrainingConfig config =
                new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                        .optOptimizer(optimizer)
                        .optDevices(new Device[] {HvdDjl.device()});

        try (Trainer trainer = model.newTrainer(config)) {
            trainer.initialize(new Shape(BATCH, 1, 28, 28));
            HvdDjl.broadcastParameters(model, 0);
            AccumulateAndClip loop = new AccumulateAndClip(trainer, optimizer, options);
            for (int epoch = 1; epoch <= options.epochs(); epoch++) {
                loop.run(epoch, training);
            }
        }
    }

    private void run(int epoch, ArrayDataset training) throws IOException, TranslateException {
        double loss = 0;
        int batches = 0;
        for (Batch batch : trainer.iterateDataset(training)) {
            try (batch) {
                loss += backward(batch);
                batches++;
                if (++passes % options.passes() == 0) {
                    step();
                }
            }
        }
        double[] mean = {loss / batches};
        Hvd.allreduce("loss", mean, ReduceOp.AVERAGE);
        if (Hvd.rank() == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "epoch %d: loss %.4f; %d of %d steps were clipped%n",
                    epoch,
                    mean[0],
                    clipped,
                    steps);
        }
    }

    /// Accumulates the gradients of this batch, and returns its loss.
    private double backward(Batch batch) {
        try (GradientCollector collector = trainer.newGradientCollector()) {
            NDList scores = trainer.forward(batch.getData());
            NDArray loss = trainer.getLoss().evaluate(batch.getLabels(), scores);
            collector.backward(loss);
            return loss.getFloat();
        }
    }

    private void step() {
        optimizer.synchronize(); // the gradients are now the averages of all processes
        steps++;
        if (clip(options.limit())) {
            clipped++;
        }
        try (DistributedOptimizer.SkipScope _ = optimizer.skipSynchronize()) {
            trainer.step();
        }
    }

    /// Scales all gradients by the same factor if their common norm is above the limit.
    private boolean clip(double limit) {
        try (NDList gradients = new NDList()) {
            for (Parameter parameter : trainer.getModel().getBlock().getParameters().values()) {
                gradients.add(parameter.getArray().getGradient());
            }
            double squares = 0;
            for (NDArray gradient : gradients) {
                try (NDArray square = gradient.square();
                        NDArray sum = square.sum()) {
                    squares += sum.getFloat();
                }
            }
            double norm = Math.sqrt(squares);
            if (norm <= limit) {
                return false;
            }
            gradients.forEach(gradient -> gradient.muli(limit / norm));
            return true;
        }
    }

    private static Block network() {
        return new SequentialBlock()
                .add(Blocks.batchFlattenBlock())
                .add(Linear.builder().setUnits(128).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(10).build());
    }

    private record Options(int epochs, int passes, double limit, Path data) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.number("--epochs", 2, 1),
                            given.number("--passes", 4, 1),
                            given.positive("--limit", 1),
                            given.folder("--data", MnistData.FOLDER));
            given.exitIfInvalid(AccumulateAndClip.class);
            return options;
        }
    }
}
