package org.horovod4j.benchmarks.training.dl4j;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.horovod4j.Hvd;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.dl4j.HvdDl4j;
import org.horovod4j.dl4j.SampledDataSetIterator;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.zip.GZIPInputStream;

/// Trains on handwritten digits with two workers: ranks of Horovod4J, or threads of DL4J's
/// `ParallelWrapper`. Prints the images per second of each epoch but the first, and the accuracy at the
/// end.
///
/// Arguments: PROGRAM IMAGES EPOCHS FOLDER. PROGRAM is `horovod4j`, `averaging` or `shared_gradients`; FOLDER
/// has MNIST's four files. All programs have the same network, images and batches of a worker. Ranks
/// multiply the learning rate by their number, as Horovod's users do.
public final class ParallelWrapperBenchmark {
    private static final int WORKERS = 2;
    private static final int BATCH = 32;
    private static final int TEST_BATCH = 500;
    private static final int SIDE = 28;
    private static final int PIXELS = SIDE * SIDE;
    private static final double LEARNING_RATE = 0.001;
    private static final long SEED = 1998;

    /// An IDX file starts with a magic number and its dimensions.
    private static final int IMAGE_HEADER = 16;

    private static final int LABEL_HEADER = 8;

    private ParallelWrapperBenchmark() {}

    /// Digits, as the files have them.
    @SuppressWarnings("ArrayRecordComponent") // nothing compares them
    private record Digits(byte[] pixels, byte[] labels) {
        static Digits read(Path folder, String set) throws IOException {
            return new Digits(
                    content(folder.resolve(set + "-images-idx3-ubyte.gz"), IMAGE_HEADER),
                    content(folder.resolve(set + "-labels-idx1-ubyte.gz"), LABEL_HEADER));
        }

        private static byte[] content(Path file, int header) throws IOException {
            try (InputStream in = new GZIPInputStream(Files.newInputStream(file))) {
                in.skipNBytes(header);
                return in.readAllBytes();
            }
        }

        DataSet batch(int[] images) {
            float[] values = new float[images.length * PIXELS];
            INDArray classes = Nd4j.zeros(images.length, ConvolutionalNetwork.CLASSES);
            for (int i = 0; i < images.length; i++) {
                for (int j = 0; j < PIXELS; j++) {
                    values[i * PIXELS + j] = (pixels[images[i] * PIXELS + j] & 0xff) / 255f;
                }
                classes.putScalar(i, labels[images[i]], 1);
            }
            return new DataSet(
                    Nd4j.create(values, new int[] {images.length, 1, SIDE, SIDE}, 'c'), classes);
        }

        SampledDataSetIterator iterator(Shard shard) {
            return new SampledDataSetIterator(shard, this::batch);
        }
    }

    public static void main(String[] arguments) throws IOException {
        String program = arguments[0];
        int images = Integer.parseInt(arguments[1]);
        int epochs = Integer.parseInt(arguments[2]);
        Path folder = Path.of(arguments[3]);
        Digits digits = Digits.read(folder, "train");
        Digits test = Digits.read(folder, "t10k");
        if (program.equals("horovod4j")) {
            trainOnRanks(digits, test, images, epochs);
        } else {
            ParallelWrapper.TrainingMode mode =
                    ParallelWrapper.TrainingMode.valueOf(program.toUpperCase(Locale.ROOT));
            trainOnThreads(mode, digits, test, images, epochs);
        }
    }

    private static void trainOnRanks(Digits digits, Digits test, int images, int epochs) {
        Hvd.init();
        if (Hvd.size() != WORKERS) {
            throw new IllegalStateException(
                    "start %d ranks, not %d".formatted(WORKERS, Hvd.size()));
        }
        MultiLayerNetwork network = network(LEARNING_RATE * Hvd.size());
        HvdDl4j.broadcastParameters(network, 0);
        HvdDl4j.distributed(network);
        SampledDataSetIterator own =
                digits.iterator(sampling().shard(images, BATCH, Hvd.communicator()));
        train(images, epochs, Hvd.rank() == 0, () -> network.fit(own));
        double accuracy =
                HvdDl4j.evaluate(
                                network,
                                test.iterator(
                                        Sampling.inOrder()
                                                .shard(
                                                        test.labels.length,
                                                        TEST_BATCH,
                                                        Hvd.communicator())))
                        .accuracy();
        if (Hvd.rank() == 0) {
            print("accuracy", 100 * accuracy);
        }
        Hvd.shutdown();
    }

    private static void trainOnThreads(
            ParallelWrapper.TrainingMode mode, Digits digits, Digits test, int images, int epochs) {
        MultiLayerNetwork network = network(LEARNING_RATE);
        ParallelWrapper wrapper =
                new ParallelWrapper.Builder<>(network).workers(WORKERS).trainingMode(mode).build();
        SampledDataSetIterator all = digits.iterator(new Shard(images, BATCH, sampling(), 0, 1));
        train(images, epochs, true, () -> wrapper.fit(all));
        wrapper.shutdown();
        print(
                "accuracy",
                100
                        * network.evaluate(
                                        test.iterator(
                                                new Shard(
                                                        test.labels.length,
                                                        TEST_BATCH,
                                                        Sampling.inOrder(),
                                                        0,
                                                        1)))
                                .accuracy());
    }

    private static MultiLayerNetwork network(double learningRate) {
        return ConvolutionalNetwork.create(SIDE, new Adam(learningRate));
    }

    private static Sampling sampling() {
        return Sampling.shuffled(SEED).withLastBatch(LastBatch.DROP);
    }

    /// Does not count the first epoch, in which libraries load and the JVM compiles.
    private static void train(int images, int epochs, boolean isPrinted, Runnable epochTraining) {
        for (int epoch = 0; epoch < epochs; epoch++) {
            long start = System.nanoTime();
            epochTraining.run();
            if (epoch > 0 && isPrinted) {
                print("rate", images * 1e9 / (System.nanoTime() - start));
            }
        }
    }

    /// The script reads these lines.
    private static void print(String name, double value) {
        System.out.printf(Locale.ROOT, "%s %.2f%n", name, value);
    }
}
