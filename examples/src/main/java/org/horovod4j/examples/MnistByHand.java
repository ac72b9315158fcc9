package org.horovod4j.examples;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.training.Epochs;
import org.horovod4j.training.LearningRate;
import org.horovod4j.training.LearningRateWarmup;
import org.horovod4j.training.MetricTotals;
import org.horovod4j.training.TensorBroadcast;
import org.horovod4j.training.TrainingProgress;
import org.horovod4j.training.TrainingProgress.Metric;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Random;

/// Trains a network on handwritten digits with several processes, in plain Java without a framework.
/// It computes everything that [Mnist] leaves to DJL, including the gradients.
///
/// Every process has the whole network (784 pixels, 128 hidden units, 10 digits) and its own part of
/// the images. After each batch the processes average their gradients, so all of them make the same
/// step: training on four processes equals training with batches four times as large. The lines that
/// distributed training adds are marked `Horovod 1` to `Horovod 6`. The division of the data, the
/// learning rate and the printed progress come from `org.horovod4j.data` and `org.horovod4j.training`.
///
/// ```
/// ./horovodrun -np 4 java -cp … org.horovod4j.examples.MnistByHand [--epochs n] [--data folder]
/// ```
public final class MnistByHand {
    private static final int HIDDEN = 128;
    private static final int DIGITS = 10;
    private static final int BATCH = 64;
    private static final float LEARNING_RATE = 0.05f;
    private static final long SEED = 1998;

    private final Communicator comm;
    private final Layer hidden;
    private final Layer output;

    MnistByHand(Communicator comm, long seed) {
        Random random = new Random(seed);
        this.comm = comm;
        this.hidden = new Layer("hidden", MnistData.PIXELS, HIDDEN, random);
        this.output = new Layer("output", HIDDEN, DIGITS, random);
    }

    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);

        // Horovod 1: join the other processes. Without a launcher, this process is the whole job.
        Hvd.init();
        try {
            // Horovod 2: use the device numbered Hvd.localRank(), so that each process of a host
            // has
            // its own. Plain Java computes on the CPU, so there is nothing to choose.
            Communicator comm = Hvd.communicator();

            // Different seeds give different initial parameters; step 5 makes them equal.
            MnistByHand mnist = new MnistByHand(comm, SEED + comm.rank());
            mnist.broadcastParameters();
            mnist.train(options);

            // Horovod 6: only rank 0 writes files.
            if (comm.rank() == 0) {
                mnist.save(options.model());
                System.out.println("saved the network as " + options.model());
            }
        } finally {
            Hvd.shutdown();
        }
    }

    /// Horovod 5: all ranks start with the parameters of rank 0. The optimizer's state needs no
    /// broadcast, since every velocity is still zero.
    void broadcastParameters() {
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        for (Layer layer : List.of(hidden, output)) {
            parameters.put(layer.name, Tensor.of(layer.parameters));
        }
        TensorBroadcast.run(comm, "parameters", parameters, 0);
    }

    private void train(Options options) throws IOException {
        MnistData training = MnistData.read(options.data(), "train");
        MnistData test = MnistData.read(options.data(), "t10k");
        // Each rank gets another part of the images, and all ranks have the same number of steps.
        Shard shard =
                Sampling.shuffled(SEED)
                        .withLastBatch(LastBatch.DROP)
                        .shard(training.count(), BATCH, comm);
        LearningRate rate = learningRate(new Epochs(shard.stepsPerEpoch()));
        TrainingProgress progress =
                TrainingProgress.ofEpochs(options.epochs())
                        .stepsPerEpoch(shard.stepsPerEpoch())
                        .communicator(comm)
                        .build();
        int update = 0;
        for (int epoch = 0; epoch < options.epochs(); epoch++) {
            MetricTotals totals = new MetricTotals();
            for (int[] images : shard.batches(epoch)) {
                totals.add("loss", step(new Batch(training, images), rate.at(++update)));
                totals.add("steps", 1);
                progress.batchDone(images.length);
            }
            validate(test, totals);
            totals.sumOverRanks(comm);
            float lastRate = rate.at(update);
            progress.epochDone(() -> metrics(totals), () -> OptionalDouble.of(lastRate));
        }
        progress.trainingDone();
    }

    private static List<Metric> metrics(MetricTotals totals) {
        return List.of(
                new Metric("loss", totals.ratio("loss", "steps")),
                new Metric("test accuracy", totals.ratio("correct", "tested")));
    }

    /// Horovod 3: n processes average over n times as many images, so the learning rate is n times
    /// as large. In the first epoch it grows from that of one process, because the first gradients
    /// are large and inaccurate.
    private LearningRate learningRate(Epochs epochs) {
        return LearningRateWarmup.to(LEARNING_RATE * comm.size(), comm.size(), 1, epochs);
    }

    /// Forward, backward, update; returns the mean loss of this rank's batch.
    double step(Batch batch, float learningRate) {
        int count = batch.count();
        float[] activations = activations(batch);
        float[] error = output.forward(activations, count);
        double loss = lossAndError(error, batch);

        // Horovod 4: average each gradient over all processes as soon as it is computed. That of
        // the last layer comes first and is exchanged while the next one is computed.
        output.backward(activations, error, count);
        Handle<Tensor> outputAverage = averageGradient(output);
        float[] hiddenError = output.inputError(error, count);
        for (int i = 0; i < hiddenError.length; i++) {
            hiddenError[i] = activations[i] > 0 ? hiddenError[i] : 0; // derivative of ReLU
        }
        hidden.backward(batch.pixels, hiddenError, count);
        Handle<Tensor> hiddenAverage = averageGradient(hidden);

        outputAverage.join();
        output.update(learningRate);
        hiddenAverage.join();
        hidden.update(learningRate);
        return loss;
    }

    private Handle<Tensor> averageGradient(Layer layer) {
        return comm.allreduceAsync(layer.name, Tensor.of(layer.gradient), ReduceOp.AVERAGE);
    }

    /// Each rank tests its part of the test images.
    private void validate(MnistData test, MetricTotals totals) {
        Shard shard =
                Sampling.inOrder().withLastBatch(LastBatch.UNEVEN).shard(test.count(), BATCH, comm);
        totals.add("tested", shard.samplesPerEpoch());
        totals.add("correct", 0);
        for (int[] images : shard.batches(0)) {
            totals.add("correct", correct(new Batch(test, images)));
        }
    }

    private int correct(Batch batch) {
        float[] scores = output.forward(activations(batch), batch.count());
        int correct = 0;
        for (int image = 0; image < batch.count(); image++) {
            int row = image * DIGITS;
            int best = 0;
            for (int digit = 1; digit < DIGITS; digit++) {
                best = scores[row + digit] > scores[row + best] ? digit : best;
            }
            correct += best == batch.labels[image] ? 1 : 0;
        }
        return correct;
    }

    private float[] activations(Batch batch) {
        float[] activations = hidden.forward(batch.pixels, batch.count());
        for (int i = 0; i < activations.length; i++) {
            activations[i] = Math.max(0, activations[i]);
        }
        return activations;
    }

    /// Replaces scores by the gradient of the mean cross entropy of their softmax: the probability,
    /// less 1 at the correct digit. Returns the mean.
    private static double lossAndError(float[] scores, Batch batch) {
        double loss = 0;
        for (int image = 0; image < batch.count(); image++) {
            int row = image * DIGITS;
            float highest = Float.NEGATIVE_INFINITY; // subtracted, or exp would overflow
            for (int digit = 0; digit < DIGITS; digit++) {
                highest = Math.max(highest, scores[row + digit]);
            }
            double sum = 0;
            for (int digit = 0; digit < DIGITS; digit++) {
                sum += Math.exp(scores[row + digit] - highest);
            }
            int label = batch.labels[image];
            loss += Math.log(sum) + highest - scores[row + label];
            for (int digit = 0; digit < DIGITS; digit++) {
                double probability = Math.exp(scores[row + digit] - highest) / sum;
                double target = digit == label ? 1 : 0;
                scores[row + digit] = (float) ((probability - target) / batch.count());
            }
        }
        return loss / batch.count();
    }

    /// For each layer: the number of inputs, the number of outputs, weights, biases; big-endian.
    private void save(Path file) throws IOException {
        Path folder = file.toAbsolutePath().getParent();
        if (folder != null) {
            Files.createDirectories(folder);
        }
        try (DataOutputStream out =
                new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
            for (Layer layer : List.of(hidden, output)) {
                out.writeInt(layer.inputs);
                out.writeInt(layer.outputs);
                for (float parameter : layer.parameters) {
                    out.writeFloat(parameter);
                }
            }
        }
    }

    /// The parameters of each layer.
    List<float[]> parameters() {
        return List.of(hidden.parameters, output.parameters);
    }

    /// A fully connected layer. Its parameters are one array and so one tensor: the weights, a row
    /// for each input, then the biases.
    private static final class Layer {
        private static final float MOMENTUM = 0.9f;

        final String name;
        final int inputs;
        final int outputs;
        final float[] parameters;
        final float[] gradient;
        private final float[] velocity;

        Layer(String name, int inputs, int outputs, Random random) {
            this.name = name;
            this.inputs = inputs;
            this.outputs = outputs;
            this.parameters = new float[(inputs + 1) * outputs];
            this.gradient = new float[parameters.length];
            this.velocity = new float[parameters.length];
            // He et al., 2015: keeps the scale of values across layers with ReLU.
            double deviation = Math.sqrt(2.0 / inputs);
            for (int i = 0; i < inputs * outputs; i++) {
                parameters[i] = (float) (deviation * random.nextGaussian());
            }
        }

        float[] forward(float[] input, int rows) {
            float[] result = new float[rows * outputs];
            for (int row = 0; row < rows; row++) {
                int to = row * outputs;
                System.arraycopy(parameters, inputs * outputs, result, to, outputs);
                for (int i = 0; i < inputs; i++) {
                    float x = input[row * inputs + i];
                    if (x != 0) { // four pixels of five are black
                        addScaled(x, parameters, i * outputs, result, to);
                    }
                }
            }
            return result;
        }

        /// Sets the gradient to the sum over all rows, given the error at the outputs.
        void backward(float[] input, float[] error, int rows) {
            Arrays.fill(gradient, 0);
            for (int row = 0; row < rows; row++) {
                int from = row * outputs;
                for (int i = 0; i < inputs; i++) {
                    float x = input[row * inputs + i];
                    if (x != 0) {
                        addScaled(x, error, from, gradient, i * outputs);
                    }
                }
                addScaled(1, error, from, gradient, inputs * outputs);
            }
        }

        /// The error at the inputs, given the error at the outputs.
        float[] inputError(float[] error, int rows) {
            float[] result = new float[rows * inputs];
            for (int row = 0; row < rows; row++) {
                for (int i = 0; i < inputs; i++) {
                    float sum = 0;
                    for (int j = 0; j < outputs; j++) {
                        sum += parameters[i * outputs + j] * error[row * outputs + j];
                    }
                    result[row * inputs + i] = sum;
                }
            }
            return result;
        }

        void update(float learningRate) {
            for (int i = 0; i < parameters.length; i++) {
                velocity[i] = MOMENTUM * velocity[i] - learningRate * gradient[i];
                parameters[i] += velocity[i];
            }
        }

        private void addScaled(float factor, float[] source, int from, float[] target, int to) {
            for (int j = 0; j < outputs; j++) {
                target[to + j] += factor * source[from + j];
            }
        }
    }

    /// Images and their labels.
    static final class Batch {
        final float[] pixels;
        final int[] labels;

        Batch(MnistData mnistData, int... images) {
            pixels = new float[images.length * MnistData.PIXELS];
            labels = new int[images.length];
            for (int i = 0; i < images.length; i++) {
                mnistData.copyTo(pixels, i, images[i]);
                labels[i] = mnistData.label(images[i]);
            }
        }

        int count() {
            return labels.length;
        }
    }

    private record Options(int epochs, Path data, Path model) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.number("--epochs", 5, 1),
                            given.folder("--data", MnistData.FOLDER),
                            given.path("--model", Path.of("target", "mnist-by-hand.model")));
            given.exitIfInvalid(MnistByHand.class);
            return options;
        }
    }
}
