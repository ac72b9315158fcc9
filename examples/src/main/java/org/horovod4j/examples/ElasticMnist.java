package org.horovod4j.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.horovod4j.Hvd;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.djl.HvdDjl;
import org.horovod4j.djl.elastic.DjlState;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ElasticSampler;
import org.horovod4j.elastic.ObjectState;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.stream.IntStream;

/// Trains a network on handwritten digits while processes join and leave.
///
/// Kill a process, or edit the file of hosts: the other processes continue with the state in their
/// memory, and new processes get it from them. The lines that elastic training adds to a program
/// are marked `Elastic 1` to `Elastic 4`.
///
/// ```
/// examples/elastic-mnist.sh [--epochs N] [--data FOLDER]
/// ```
public final class ElasticMnist {
    private static final int BATCH_OF_ALL = 240; // divisible by 1 to 6 and 8 processes
    private static final int TEST_BATCH = 500;
    private static final int STEPS_PER_COMMIT = 5;
    private static final float LEARNING_RATE = 0.001f;

    private final Trainer trainer;
    private final MnistData training;
    private final MnistData test;
    private final int epochs;
    private final ElasticSampler sampler;
    private final ObjectState state;

    private ElasticMnist(
            Trainer trainer, Optimizer optimizer, MnistData training, MnistData test, int epochs) {
        this.trainer = trainer;
        this.training = training;
        this.test = test;
        this.epochs = epochs;
        // Elastic 1: a sampler that divides the rest of an epoch among the remaining processes.
        this.sampler =
                new ElasticSampler(
                        training.count(), Sampling.shuffled(42).withLastBatch(LastBatch.PAD));
        // Elastic 2: the state has everything that must survive the loss of a process.
        this.state =
                new ObjectState()
                        .with("model", new DjlState(trainer.getModel(), optimizer))
                        .with("sampler", sampler)
                        .with("step", 0);
    }

    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);
        // Slow preparations come before init: after it, the others wait for this worker.
        String engine = Engine.getInstance().getEngineName();
        MnistData training = MnistData.read(options.data(), "train");
        MnistData test = MnistData.read(options.data(), "t10k");
        Hvd.init();
        try (Model model = Model.newInstance("mnist", HvdDjl.device(), engine)) {
            model.setBlock(network());
            Optimizer adam =
                    Optimizer.adam().optLearningRateTracker(Tracker.fixed(LEARNING_RATE)).build();
            Optimizer optimizer = HvdDjl.distributed(adam, model);
            DefaultTrainingConfig config =
                    new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                            .optOptimizer(optimizer)
                            .optDevices(new Device[] {HvdDjl.device()});
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(1, 1, 28, 28));
                new ElasticMnist(trainer, optimizer, training, test, options.epochs()).run();
            }
        } finally {
            Hvd.shutdown();
        }
    }

    private void run() {
        // Elastic 3: the loop is called again when the processes have changed.
        boolean isTrained = Elastic.run(state, _ -> train());
        if (isTrained && Hvd.rank() == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "test accuracy %.2f %% after %d steps, with %d process(es) in the end%n",
                    100 * accuracy(),
                    state.getInt("step"),
                    Hvd.size());
        }
    }

    private void train() {
        print("continues");
        while (sampler.epoch() < epochs) {
            // The batch of all processes stays the same, and so does the learning rate.
            int batchSize = Math.ceilDiv(BATCH_OF_ALL, Hvd.size());
            while (sampler.hasNext(batchSize)) {
                step(sampler.nextBatch(batchSize));
                int step = state.getInt("step") + 1;
                state.set("step", step);
                // Elastic 4: commit the state; after a loss, training repeats the steps since then.
                if (step % STEPS_PER_COMMIT == 0) {
                    state.commit();
                }
            }
            sampler.nextEpoch();
            print("has read all images %d time(s)".formatted(sampler.epoch()));
        }
    }

    private void print(String what) {
        if (Hvd.rank() == 0) {
            System.out.printf(
                    "step %d, %d process(es): %s%n", state.getInt("step"), Hvd.size(), what);
        }
    }

    private void step(int[] images) {
        try (NDManager batch = trainer.getManager().newSubManager();
                GradientCollector collector = trainer.newGradientCollector()) {
            NDList scores = trainer.forward(new NDList(pixels(batch, training, images)));
            NDList labels = new NDList(labels(batch, training, images));
            collector.backward(trainer.getLoss().evaluate(labels, scores));
        }
        trainer.step();
    }

    private double accuracy() {
        int right = 0;
        for (int from = 0; from < test.count(); from += TEST_BATCH) {
            int to = Math.min(from + TEST_BATCH, test.count());
            int[] images = IntStream.range(from, to).toArray();
            try (NDManager batch = trainer.getManager().newSubManager()) {
                NDList scores = trainer.evaluate(new NDList(pixels(batch, test, images)));
                long[] read = scores.singletonOrThrow().argMax(1).toLongArray();
                right +=
                        (int)
                                IntStream.range(0, images.length)
                                        .filter(row -> read[row] == test.label(images[row]))
                                        .count();
            }
        }
        return (double) right / test.count();
    }

    private static NDArray pixels(NDManager manager, MnistData mnistData, int[] images) {
        float[] pixels = new float[images.length * MnistData.PIXELS];
        for (int row = 0; row < images.length; row++) {
            mnistData.copyTo(pixels, row, images[row]);
        }
        return manager.create(pixels, new Shape(images.length, 1, 28, 28));
    }

    private static NDArray labels(NDManager manager, MnistData mnistData, int[] images) {
        float[] labels = new float[images.length];
        for (int row = 0; row < images.length; row++) {
            labels[row] = mnistData.label(images[row]);
        }
        return manager.create(labels);
    }

    private static Block network() {
        return new SequentialBlock()
                .add(Blocks.batchFlattenBlock())
                .add(Linear.builder().setUnits(128).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(10).build());
    }

    private record Options(int epochs, Path data) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.number("--epochs", 20, 1),
                            given.folder("--data", MnistData.FOLDER));
            given.exitIfInvalid(ElasticMnist.class);
            return options;
        }
    }
}
