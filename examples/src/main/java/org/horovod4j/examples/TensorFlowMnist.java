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
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.types.TFloat32;

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
    private static final float LEARNING_RATE = 0.001f;
    private static final long SEED = 1998;

    private final Graph graph = new Graph();
    private final Ops tf = Ops.create(graph);
    private final DigitNetwork network = DigitNetwork.build(tf);
    private final Placeholder<TFloat32> rate =
            tf.placeholder(TFloat32.class, Placeholder.shape(Shape.scalar()));
    private final Operand<TFloat32> correctCount = tf.reduceSum(network.correct(), tf.constant(0));
    private final Op step;
    private final Op broadcast;

    private TensorFlowMnist() {
        // Horovod 4: average the gradients of all processes in each step.
        Optimizer optimizer = HvdTensorFlow.distributed(new Adam(graph, rate));
        step = optimizer.minimize(network.loss());
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
        try (TFloat32 images = DigitNetwork.images(data, batch);
                TFloat32 labels = DigitNetwork.labels(data, batch);
                TFloat32 rateNow = TFloat32.scalarOf(learningRate);
                Result result =
                        session.runner()
                                .feed(network.images(), images)
                                .feed(network.labels(), labels)
                                .feed(rate, rateNow)
                                .addTarget(step)
                                .fetch(network.loss())
                                .run()) {
            return ((TFloat32) result.get(0)).getFloat();
        }
    }

    private float countCorrect(Session session, MnistData data, int[] batch) {
        try (TFloat32 images = DigitNetwork.images(data, batch);
                TFloat32 labels = DigitNetwork.labels(data, batch);
                Result result =
                        session.runner()
                                .feed(network.images(), images)
                                .feed(network.labels(), labels)
                                .fetch(correctCount)
                                .run()) {
            return ((TFloat32) result.get(0)).getFloat();
        }
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
