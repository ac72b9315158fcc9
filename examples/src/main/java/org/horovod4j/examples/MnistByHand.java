package org.horovod4j.examples;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/// Learns to read handwritten digits on several processes at once, in plain Java and without any
/// framework: what [Mnist] leaves to DJL, down to the gradients, is spelt out here.
///
/// Every process has the whole network (784 pixels, 128 hidden units, 10 digits) and takes its own
/// share of the images. After each batch the processes average their gradients, so all of them
/// make the same step and stay alike: training on four processes is training with batches four
/// times as large. What that asks of a program is marked `Horovod 1` to `Horovod 6`; the rest is
/// the same for one process.
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
            // Horovod 2: take the device numbered Hvd.localRank(), so that the processes of a host
            // do not crowd on one. Plain Java computes on the CPU and has nothing to take.
            Communicator comm = Hvd.communicator();

            // The seeds differ as they would by chance; see how step 5 makes up for it.
            MnistByHand mnist = new MnistByHand(comm, SEED + comm.rank());
            mnist.broadcastParameters();
            mnist.train(options);

            // Horovod 6: what a job does once, rank 0 does; two writers would spoil the file.
            if (comm.rank() == 0) {
                mnist.save(options.model());
                System.out.println("saved the network as " + options.model());
            }
        } finally {
            Hvd.shutdown();
        }
    }

    /// Horovod 5: all start from the parameters of rank 0. The optimizer's state would follow, but
    /// every velocity is still zero.
    void broadcastParameters() {
        for (Layer layer : List.of(hidden, output)) {
            comm.broadcast(layer.name, Tensor.of(layer.parameters), 0);
        }
    }

    private void train(Options options) throws IOException {
        MnistData training = MnistData.read(options.data(), "train");
        MnistData test = MnistData.read(options.data(), "t10k");
        // The same number for all: a rank with one step more would wait for the others in vain.
        int steps = training.count() / (BATCH * comm.size());

        for (int epoch = 0; epoch < options.epochs(); epoch++) {
            int[] order = shuffle(training.count(), new Random(SEED + epoch));
            double loss = 0;
            long start = System.nanoTime();
            for (int step = 0; step < steps; step++) {
                Batch batch = new Batch(training, share(order, step));
                loss += step(batch, learningRate(epoch + (double) step / steps)) / steps;
            }
            double seconds = (System.nanoTime() - start) * 1e-9;
            report(epoch + 1, loss, test, steps * BATCH * comm.size() / seconds);
        }
    }

    /// Horovod 3: n processes average over n times as many images, which makes the gradient surer
    /// and the step longer, n times. Over the first epoch it grows from that of a single process,
    /// because the first gradients are large and lead astray.
    private float learningRate(double epoch) {
        double warmth = Math.min(1, epoch);
        return (float) (LEARNING_RATE * (1 + warmth * (comm.size() - 1)));
    }

    /// This rank's images of a step: every `size`-th in the order that all ranks shuffled alike.
    private int[] share(int[] order, int step) {
        int[] images = new int[BATCH];
        for (int i = 0; i < BATCH; i++) {
            images[i] = order[(step * BATCH + i) * comm.size() + comm.rank()];
        }
        return images;
    }

    /// Forward, backward, update; returns the mean loss of this rank's batch.
    double step(Batch batch, float learningRate) {
        int count = batch.count();
        float[] activations = activations(batch);
        float[] error = output.forward(activations, count);
        double loss = lossAndError(error, batch);

        // Horovod 4: average each gradient over all processes as soon as it is there. The last
        // layer's comes first, and travels while the one before it is still being computed.
        output.backward(activations, error, count);
        Handle<Tensor> outputAverage = averageGradient(output);
        float[] hiddenError = output.inputError(error, count);
        for (int i = 0; i < hiddenError.length; i++) {
            hiddenError[i] = activations[i] > 0 ? hiddenError[i] : 0; // what ReLU let through
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

    /// Each rank tries its share of the test images; the sums of all make the line of rank 0.
    private void report(int epoch, double loss, MnistData test, double imagesPerSecond) {
        double[] sums = {loss, correct(test)};
        comm.allreduce("report", sums, ReduceOp.SUM);
        if (comm.rank() == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "epoch %d: loss %.4f, test accuracy %.2f %%, %.0f images/s by %d process(es)%n",
                    epoch,
                    sums[0] / comm.size(),
                    100 * sums[1] / test.count(),
                    imagesPerSecond,
                    comm.size());
        }
    }

    private int correct(MnistData test) {
        int correct = 0;
        for (int image = comm.rank(); image < test.count(); image += comm.size()) {
            Batch batch = new Batch(test, image);
            float[] scores = output.forward(activations(batch), 1);
            int best = 0;
            for (int digit = 1; digit < DIGITS; digit++) {
                best = scores[digit] > scores[best] ? digit : best;
            }
            correct += best == batch.labels[0] ? 1 : 0;
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

    /// Turns scores into the gradient of the mean cross entropy of their softmax, which is the
    /// probability less 1 at the right digit; returns that mean.
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

    /// Layer by layer the number of inputs and of outputs, the weights and the biases, big-endian.
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

    private static int[] shuffle(int count, Random random) {
        int[] order = new int[count];
        for (int i = 0; i < count; i++) {
            int j = random.nextInt(i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        return order;
    }

    /// The numbers being learnt, layer by layer.
    List<float[]> parameters() {
        return List.of(hidden.parameters, output.parameters);
    }

    /// A fully connected layer. Its parameters are one array, and so one tensor: the weights, a row
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
            // After He et al. 2015: keeps the scale of what passes through layers of ReLU.
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

        /// The error at the inputs, given that at the outputs.
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

    /// Some images and what they show.
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
