package org.horovod4j.spark.ml;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// A framework in plain Java: the output is a weighted sum of the features, and the loss its squared
/// error.
record LinearNetwork() implements NetworkFramework {
    static final double RATE = 0.1;

    /// How often this JVM has loaded a network.
    static final AtomicInteger LOADED = new AtomicInteger();

    private static final String FILE = "weights";

    @Override
    public RankTraining start(TrainingSetup setup) {
        return new Training(setup, new double[setup.featureWidth()]);
    }

    @Override
    public NetworkPredictor load(Path folder) throws IOException {
        LOADED.incrementAndGet();
        double[] weights = read(folder.resolve(FILE));
        return new NetworkPredictor() {
            @Override
            public float[] predict(float[] features, int rows) {
                float[] outputs = new float[rows];
                for (int row = 0; row < rows; row++) {
                    outputs[row] = (float) output(weights, features, row);
                }
                return outputs;
            }

            @Override
            public void close() {}
        };
    }

    private static double output(double[] weights, float[] features, int row) {
        double sum = 0;
        for (int i = 0; i < weights.length; i++) {
            sum += weights[i] * features[row * weights.length + i];
        }
        return sum;
    }

    private static void write(Path file, double[] weights) throws IOException {
        Files.writeString(
                file,
                Arrays.stream(weights).mapToObj(Double::toString).collect(Collectors.joining(" ")));
    }

    private static double[] read(Path file) throws IOException {
        return Stream.of(Files.readString(file).split(" "))
                .mapToDouble(Double::parseDouble)
                .toArray();
    }

    private static final class Training implements RankTraining {
        private final Communicator communicator;
        private final Path checkpoints;
        private final double[] weights;
        private int epoch;

        Training(TrainingSetup setup, double[] weights) {
            this.communicator = setup.communicator();
            this.checkpoints = setup.checkpoints();
            this.weights = weights;
        }

        @Override
        public int resume() throws IOException {
            if (communicator.rank() == 0) {
                while (Files.exists(checkpoint(epoch + 1))) {
                    epoch++;
                }
                if (epoch > 0) {
                    double[] read = read(checkpoint(epoch));
                    System.arraycopy(read, 0, weights, 0, weights.length);
                }
            }
            epoch = communicator.broadcastObject("epoch", epoch, 0);
            communicator.broadcast("weights", weights, 0);
            return epoch;
        }

        private Path checkpoint(int number) {
            return checkpoints.resolve("epoch-" + number);
        }

        @Override
        public double train(TrainingRows rows, StepWeights step) {
            double[] gradient = new double[weights.length];
            double loss = 0;
            for (int row = 0; row < rows.rows(); row++) {
                double error = output(weights, rows.features(), row) - rows.labels()[row];
                loss += error * error / rows.rows();
                double weight = step.ofRows() == null ? 1 : step.ofRows()[row];
                for (int i = 0; i < weights.length; i++) {
                    gradient[i] +=
                            step.scale()
                                    * weight
                                    * 2
                                    * error
                                    * rows.features()[row * weights.length + i]
                                    / rows.rows();
                }
            }
            communicator.allreduce("gradient", gradient, ReduceOp.AVERAGE);
            for (int i = 0; i < weights.length; i++) {
                weights[i] -= RATE * gradient[i];
            }
            return loss;
        }

        @Override
        public double validate(TrainingRows rows) {
            double loss = 0;
            for (int row = 0; row < rows.rows(); row++) {
                double error = output(weights, rows.features(), row) - rows.labels()[row];
                loss += error * error / rows.rows();
            }
            return loss;
        }

        @Override
        public Map<String, Double> metrics(Part part) {
            return Map.of("slope", weights[0]);
        }

        @Override
        public void saveCheckpoint() throws IOException, InterruptedException {
            epoch++;
            if (communicator.rank() == 0) {
                Thread.sleep(50); // lets other ranks overtake it, if nothing stops them
                write(checkpoint(epoch), weights);
            }
        }

        @Override
        public void saveNetwork(Path folder) throws IOException {
            write(folder.resolve(FILE), weights);
        }

        @Override
        public void close() {}
    }
}
