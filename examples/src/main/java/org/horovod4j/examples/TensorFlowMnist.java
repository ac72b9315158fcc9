package org.horovod4j.examples;

import org.horovod4j.Hvd;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.tensorflow.Adam;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.horovod4j.training.Epochs;
import org.horovod4j.training.LearningRate;
import org.horovod4j.training.LearningRateSchedule;
import org.horovod4j.training.MetricTotals;
import org.horovod4j.training.TrainingProgress;
import org.horovod4j.training.TrainingProgress.Metric;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/// Trains a network on handwritten digits with TensorFlow Java, on several processes.
///
/// Every process has the whole network and its own part of the images. After each batch the processes
/// average their gradients, so all of them make the same step: training on two processes equals
/// training with batches twice as large. The lines that distributed training adds to a TensorFlow
/// program are marked `Horovod 1` to `Horovod 6`.
///
/// ```
/// examples/run.sh TensorFlowMnist [--epochs N] [--data FOLDER] [--model FOLDER]
/// ```
public final class TensorFlowMnist implements AutoCloseable {
    private static final int BATCH = 64;
    private static final int TEST_BATCH = 500;
    private static final int DIGITS = 10;
    private static final float LEARNING_RATE = 0.001f;
    private static final long SEED = 1998;

    private final Graph graph = new Graph();
    private final Ops tf = Ops.create(graph);
    private final Placeholder<TFloat32> images =
            tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, MnistData.PIXELS)));
    private final Placeholder<TFloat32> labels =
            tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, DIGITS)));
    private final Placeholder<TFloat32> rate =
            tf.placeholder(TFloat32.class, Placeholder.shape(Shape.scalar()));
    private final Operand<TFloat32> loss;
    private final Operand<TFloat32> correct;
    private final Op step;
    private final Op broadcast;

    private TensorFlowMnist() {
        Operand<TFloat32> scores = network();
        loss =
                tf.math.mean(
                        tf.nn.softmaxCrossEntropyWithLogits(scores, labels).loss(), tf.constant(0));
        correct =
                tf.reduceSum(
                        tf.dtypes.cast(
                                tf.math.equal(
                                        tf.math.argMax(scores, tf.constant(1)),
                                        tf.math.argMax(labels, tf.constant(1))),
                                TFloat32.class),
                        tf.constant(0));
        // Horovod 4: average the gradients of all processes in each step.
        Optimizer optimizer = HvdTensorFlow.distributed(new Adam(graph, rate));
        step = optimizer.minimize(loss);
        // Horovod 5: all processes start with the variables of rank 0.
        broadcast = HvdTensorFlow.broadcastGlobalVariables(graph, 0);
    }

    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);

        // Horovod 1: join the other processes. Without a launcher, this process is the whole job.
        Hvd.init();
        try (TensorFlowMnist mnist = new TensorFlowMnist();
                // Horovod 2: each process of a host uses its own device.
                Session session = new Session(mnist.graph, HvdTensorFlow.config())) {
            session.initialize();
            session.run(mnist.broadcast);
            mnist.train(session, options);

            // Horovod 6: only rank 0 writes files.
            if (Hvd.rank() == 0) {
                Files.createDirectories(options.model());
                session.save(options.model().resolve("mnist").toString());
                System.out.println("the network is in " + options.model());
            }
        } finally {
            Hvd.shutdown();
        }
    }

    /// Two convolutional layers with kernels of 5 by 5 pixels, and two fully connected layers.
    private Operand<TFloat32> network() {
        Operand<TFloat32> input = tf.reshape(images, tf.constant(new int[] {-1, 28, 28, 1}));
        Operand<TFloat32> first = pool(convolution("conv1", input, 1, 16));
        Operand<TFloat32> second = pool(convolution("conv2", first, 16, 32));
        int features = 7 * 7 * 32;
        Operand<TFloat32> flat = tf.reshape(second, tf.constant(new int[] {-1, features}));
        Operand<TFloat32> hidden = tf.nn.relu(dense("dense1", flat, features, 128));
        return dense("dense2", hidden, 128, DIGITS);
    }

    private Operand<TFloat32> convolution(
            String name, Operand<TFloat32> input, int channels, int filters) {
        Variable<TFloat32> kernel =
                weights(name + "_kernel", Shape.of(5, 5, channels, filters), 25 * channels);
        return tf.nn.relu(
                tf.nn.biasAdd(
                        tf.nn.conv2d(input, kernel, List.of(1L, 1L, 1L, 1L), "SAME"),
                        zeros(name + "_bias", filters)));
    }

    private Operand<TFloat32> pool(Operand<TFloat32> input) {
        Operand<TInt32> two = tf.constant(new int[] {1, 2, 2, 1});
        return tf.nn.maxPool(input, two, two, "SAME");
    }

    private Operand<TFloat32> dense(String name, Operand<TFloat32> input, int inputs, int outputs) {
        Variable<TFloat32> weights = weights(name + "_weights", Shape.of(inputs, outputs), inputs);
        return tf.nn.biasAdd(tf.linalg.matMul(input, weights), zeros(name + "_bias", outputs));
    }

    /// Random weights, other ones in each process: the broadcast makes them equal.
    private Variable<TFloat32> weights(String name, Shape shape, int inputs) {
        Ops init = tf.withInitScope();
        Variable<TFloat32> variable = init.withName(name).variable(shape, TFloat32.class);
        init.assign(
                variable,
                init.math.mul(
                        init.random.truncatedNormal(init.constant(shape.asArray()), TFloat32.class),
                        init.constant((float) Math.sqrt(2.0 / inputs))));
        return variable;
    }

    private Variable<TFloat32> zeros(String name, int size) {
        Ops init = tf.withInitScope();
        Variable<TFloat32> variable = init.withName(name).variable(Shape.of(size), TFloat32.class);
        init.assign(variable, init.constant(new float[size]));
        return variable;
    }

    private void train(Session session, Options options) throws IOException {
        MnistData training = MnistData.read(options.data(), "train");
        MnistData test = MnistData.read(options.data(), "t10k");
        // Each process gets its part of the images, and all have the same number of steps.
        Shard shard =
                Sampling.shuffled(SEED)
                        .withLastBatch(LastBatch.DROP)
                        .shard(training.count(), BATCH, Hvd.communicator());
        Shard testShard = Sampling.inOrder().shard(test.count(), TEST_BATCH, Hvd.communicator());
        // Horovod 3: n processes average over n times as many images, so the learning rate is
        // n times as large.
        LearningRate schedule =
                LearningRateSchedule.of(
                                LEARNING_RATE * Hvd.size(), new Epochs(shard.stepsPerEpoch()))
                        .smooth(
                                0,
                                options.epochs(),
                                epoch -> (1 + Math.cos(Math.PI * epoch / options.epochs())) / 2);
        TrainingProgress progress =
                TrainingProgress.ofEpochs(options.epochs())
                        .stepsPerEpoch(shard.stepsPerEpoch())
                        .build();
        int update = 0;
        MetricTotals totals = new MetricTotals();
        for (int epoch = 0; epoch < options.epochs(); epoch++) {
            totals = new MetricTotals();
            for (int[] batch : shard.batches(epoch)) {
                totals.add("loss", trainStep(session, training, batch, schedule.at(++update)));
                totals.add("steps", 1);
                progress.batchDone(batch.length);
            }
            for (int[] batch : testShard.batches(epoch)) {
                totals.add("correct", countCorrect(session, test, batch));
                totals.add("tested", batch.length);
            }
            totals.sumOverRanks(Hvd.communicator());
            MetricTotals ofEpoch = totals;
            float lastRate = schedule.at(update);
            progress.epochDone(
                    () ->
                            List.of(
                                    new Metric("loss", ofEpoch.ratio("loss", "steps")),
                                    new Metric(
                                            "test accuracy", ofEpoch.ratio("correct", "tested"))),
                    () -> OptionalDouble.of(lastRate));
        }
        progress.trainingDone();
        if (Hvd.rank() == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "test accuracy %.2f %% with %d process(es)%n",
                    100 * totals.ratio("correct", "tested"),
                    Hvd.size());
        }
    }

    private float trainStep(Session session, MnistData data, int[] batch, float learningRate) {
        try (TFloat32 pixels = pixels(data, batch);
                TFloat32 digits = digits(data, batch);
                TFloat32 rateNow = TFloat32.scalarOf(learningRate);
                Result result =
                        session.runner()
                                .feed(images, pixels)
                                .feed(labels, digits)
                                .feed(rate, rateNow)
                                .addTarget(step)
                                .fetch(loss)
                                .run()) {
            return ((TFloat32) result.get(0)).getFloat();
        }
    }

    private float countCorrect(Session session, MnistData data, int[] batch) {
        try (TFloat32 pixels = pixels(data, batch);
                TFloat32 digits = digits(data, batch);
                Result result =
                        session.runner()
                                .feed(images, pixels)
                                .feed(labels, digits)
                                .fetch(correct)
                                .run()) {
            return ((TFloat32) result.get(0)).getFloat();
        }
    }

    private static TFloat32 pixels(MnistData data, int[] batch) {
        float[] values = new float[batch.length * MnistData.PIXELS];
        for (int i = 0; i < batch.length; i++) {
            data.copyTo(values, i, batch[i]);
        }
        return TFloat32.tensorOf(
                Shape.of(batch.length, MnistData.PIXELS), DataBuffers.of(values, true, false));
    }

    /// Each label as ten numbers, of which one is 1.
    private static TFloat32 digits(MnistData data, int[] batch) {
        float[] values = new float[batch.length * DIGITS];
        for (int i = 0; i < batch.length; i++) {
            values[i * DIGITS + data.label(batch[i])] = 1;
        }
        return TFloat32.tensorOf(
                Shape.of(batch.length, DIGITS), DataBuffers.of(values, true, false));
    }

    @Override
    public void close() {
        graph.close();
    }

    private record Options(int epochs, Path data, Path model) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.number("--epochs", 3, 1),
                            given.folder("--data", MnistData.FOLDER),
                            given.path("--model", Path.of("target", "tensorflow-mnist")));
            given.exitIfInvalid(TensorFlowMnist.class);
            return options;
        }
    }
}
