package org.horovod4j.examples;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;

import java.util.List;
import java.util.OptionalInt;
import java.util.Random;

/// Compares Adasum with the average of gradients on a small problem: a line through noisy points, in
/// plain Java.
///
/// Each process has its own points and makes the same small steps. An average of their gradients is a
/// step as long as that of one process. Adasum adds what differs between the gradients, so it needs
/// fewer steps, with the learning rate of one process.
///
/// ```
/// NP=4 examples/run.sh AdasumSmallModel [--points N] [--rate X] [--steps N]
/// ```
public final class AdasumSmallModel {
    private static final int INPUTS = 16;
    private static final double GOAL = 0.02;
    private static final long SEED = 2020;

    private AdasumSmallModel() {}

    public static void main(String[] arguments) {
        Options options = Options.parse(arguments);
        Hvd.init();
        try {
            for (ReduceOp op : List.of(ReduceOp.AVERAGE, ReduceOp.ADASUM)) {
                OptionalInt steps = stepsToGoal(Hvd.communicator(), op, options);
                if (Hvd.rank() == 0) {
                    System.out.println(
                            steps.isPresent()
                                    ? "%s: %d steps on %d process(es)"
                                            .formatted(op, steps.getAsInt(), Hvd.size())
                                    : "%s: not there after %d steps"
                                            .formatted(op, options.steps()));
                }
            }
        } finally {
            Hvd.shutdown();
        }
    }

    /// How many steps it takes until the weights are near the true ones. The same on all ranks, because
    /// all ranks have the same weights.
    static OptionalInt stepsToGoal(Communicator comm, ReduceOp op, Options options) {
        double[] truth = new Random(SEED).doubles(INPUTS, -1, 1).toArray();
        Random random = new Random(SEED + 1 + comm.rank()); // other points on each rank
        double[] weights = new double[INPUTS];
        for (int step = 1; step <= options.steps(); step++) {
            double[] gradient = gradient(weights, truth, options.points(), random);
            comm.allreduce("gradient", gradient, op);
            for (int i = 0; i < INPUTS; i++) {
                weights[i] -= options.rate() * gradient[i];
            }
            if (distance(weights, truth) < GOAL) {
                return OptionalInt.of(step);
            }
        }
        return OptionalInt.empty();
    }

    /// Of the squared error at some random points.
    private static double[] gradient(double[] weights, double[] truth, int points, Random random) {
        double[] gradient = new double[INPUTS];
        for (int point = 0; point < points; point++) {
            double[] inputs = random.doubles(INPUTS, -1, 1).toArray();
            double error = 0;
            for (int i = 0; i < INPUTS; i++) {
                error += (weights[i] - truth[i]) * inputs[i];
            }
            for (int i = 0; i < INPUTS; i++) {
                gradient[i] += 2 * error * inputs[i] / points;
            }
        }
        return gradient;
    }

    /// The square of the distance, in units of the number of weights.
    private static double distance(double[] weights, double[] truth) {
        double sum = 0;
        for (int i = 0; i < INPUTS; i++) {
            sum += (weights[i] - truth[i]) * (weights[i] - truth[i]);
        }
        return sum / INPUTS;
    }

    record Options(int points, double rate, int steps) {
        private static Options parse(String[] words) {
            ExampleArguments given = new ExampleArguments(words);
            Options options =
                    new Options(
                            given.number("--points", 4, 1),
                            given.positive("--rate", 0.05),
                            given.number("--steps", 5000, 1));
            given.exitIfInvalid(AdasumSmallModel.class);
            return options;
        }
    }
}
