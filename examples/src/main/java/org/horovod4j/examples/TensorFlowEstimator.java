package org.horovod4j.examples;

import org.horovod4j.Hvd;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.tensorflow.Adam;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.horovod4j.tensorflow.training.Estimator;
import org.horovod4j.tensorflow.training.Estimator.Evaluation;
import org.horovod4j.tensorflow.training.Estimator.Mode;
import org.horovod4j.tensorflow.training.ModelSpec;
import org.horovod4j.tensorflow.training.TensorBatch;
import org.horovod4j.training.Epochs;
import org.horovod4j.training.LearningRate;
import org.horovod4j.training.LearningRateSchedule;
import org.tensorflow.Graph;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TInt64;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.stream.StreamSupport;

/// Trains the network of [TensorFlowMnist] in the style of Python's `tf.estimator`: one function
/// builds the network, another returns batches, and [Estimator] does the rest.
///
/// The estimator does two of Horovod's six steps by itself: all processes start with the variables of
/// rank 0, and only rank 0 writes files. Kill the job and start it again: it resumes from the newest
/// checkpoint, also with another number of processes.
///
/// ```
/// examples/run.sh TensorFlowEstimator [--epochs N] [--data FOLDER] [--model FOLDER]
/// ```
public final class TensorFlowEstimator {
    private static final int BATCH = 64;
    private static final int TEST_BATCH = 500;
    private static final int SHOWN = 10;
    private static final float LEARNING_RATE = 0.001f;
    private static final long SEED = 1998;

    private TensorFlowEstimator() {}

    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);

        // Horovod 1: join the other processes. Without a launcher, this process is the whole job.
        Hvd.init();
        try {
            run(options);
        } finally {
            Hvd.shutdown();
        }
    }

    private static void run(Options options) throws IOException {
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
        // Horovod 2, 5 and 6: the estimator uses a device for each process, broadcasts variables
        // from rank 0, and saves on rank 0.
        Estimator estimator =
                Estimator.of(TensorFlowEstimator::build, options.model())
                        .learningRate(schedule)
                        .saveEvery(shard.stepsPerEpoch())
                        .build();

        estimator.train(
                step ->
                        batches(
                                training,
                                shard.batches(step / shard.stepsPerEpoch(), options.epochs())),
                options.epochs() * shard.stepsPerEpoch());
        Evaluation evaluation = estimator.evaluate(_ -> batches(test, testShard.batches(0)));
        print(
                String.format(
                        Locale.ROOT,
                        "test accuracy %.2f %% with %d process(es), after %d steps",
                        100 * Objects.requireNonNull(evaluation.metrics().get("accuracy")),
                        Hvd.size(),
                        evaluation.step()));

        Shard first =
                Sampling.inOrder().shard((long) SHOWN * Hvd.size(), SHOWN, Hvd.communicator());
        estimator.predict(
                _ -> batches(test, first.batches(0)),
                predictions -> print("some test images show " + digits(predictions)));
        // As in Python, each export has a folder named by the time.
        Path exported =
                options.model().resolve("exported-%d".formatted(Instant.now().getEpochSecond()));
        estimator.exportSavedModel(exported);
        print("the network is in " + exported);
    }

    /// Builds the network, for training with an optimizer.
    private static ModelSpec build(Graph graph, Mode mode) {
        Ops tf = Ops.create(graph);
        DigitNetwork network = DigitNetwork.build(tf);
        ModelSpec model =
                new ModelSpec()
                        .input("images", network.images())
                        .input("labels", network.labels())
                        .prediction("digits", network.digits())
                        .metric("accuracy", tf.math.mean(network.correct(), tf.constant(0)))
                        .loss(network.loss());
        if (mode == Mode.TRAIN) {
            // Horovod 4: average the gradients of all processes in each step.
            model.trainOp(
                    HvdTensorFlow.distributed(new Adam(graph, LEARNING_RATE))
                            .minimize(network.loss()));
        }
        return model;
    }

    private static Iterator<TensorBatch> batches(MnistData data, Iterable<int[]> indices) {
        return StreamSupport.stream(indices.spliterator(), false)
                .map(
                        batch ->
                                new TensorBatch(
                                        batch.length,
                                        Map.of(
                                                "images", DigitNetwork.images(data, batch),
                                                "labels", DigitNetwork.labels(data, batch))))
                .iterator();
    }

    private static String digits(Map<String, org.tensorflow.Tensor> predictions) {
        StringJoiner digits = new StringJoiner(" ");
        ((TInt64) Objects.requireNonNull(predictions.get("digits")))
                .scalars()
                .forEach(digit -> digits.add(String.valueOf(digit.getLong())));
        return digits.toString();
    }

    private static void print(String line) {
        if (Hvd.rank() == 0) {
            System.out.println(line);
        }
    }

    private record Options(int epochs, Path data, Path model) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.number("--epochs", 3, 1),
                            given.folder("--data", MnistData.FOLDER),
                            given.path("--model", Path.of("target", "tensorflow-estimator")));
            given.exitIfInvalid(TensorFlowEstimator.class);
            return options;
        }
    }
}
