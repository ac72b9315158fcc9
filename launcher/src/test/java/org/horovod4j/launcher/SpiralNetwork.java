package org.horovod4j.launcher;

import java.util.Random;

/// A network with one hidden layer that learns to separate two spirals. It is small enough for
/// tests, and its loss shows whether a step was lost or repeated.
///
/// It computes in `double`, so that the order of additions does not change the first digits of the
/// loss.
final class SpiralNetwork {
    static final int SAMPLES = 240;

    private static final int HIDDEN = 16;
    private static final int PER_UNIT = 4; // two inputs, the bias, the way out
    private static final double WEIGHT_DECAY =
            1e-3; // or the loss would sink to where nothing shows

    private final double[] parameters = new double[HIDDEN * PER_UNIT + 1];

    SpiralNetwork(long seed) {
        Random random = new Random(seed);
        for (int i = 0; i < parameters.length; i++) {
            parameters[i] = random.nextGaussian();
        }
    }

    /// The parameters, not a copy.
    double[] parameters() {
        return parameters;
    }

    /// The sum of the gradients of these samples.
    double[] gradient(int[] samples) {
        double[] gradient = new double[parameters.length];
        for (int sample : samples) {
            addGradient(sample, gradient);
        }
        return gradient;
    }

    private void addGradient(int sample, double[] gradient) {
        double[] hidden = hidden(sample);
        double error = sigmoid(output(hidden)) - label(sample);
        double[] input = {x(sample), y(sample), 1};
        for (int unit = 0; unit < HIDDEN; unit++) {
            int at = unit * PER_UNIT;
            double back = error * parameters[at + 3] * (1 - hidden[unit] * hidden[unit]);
            for (int i = 0; i < input.length; i++) {
                gradient[at + i] += back * input[i];
            }
            gradient[at + 3] += error * hidden[unit];
        }
        gradient[gradient.length - 1] += error;
    }

    /// One step of gradient descent.
    ///
    /// @param gradient the sum over `count` samples
    void step(double[] gradient, int count, double rate) {
        for (int i = 0; i < parameters.length; i++) {
            parameters[i] -= rate * (gradient[i] / count + WEIGHT_DECAY * parameters[i]);
        }
    }

    /// The mean cross-entropy over all samples.
    double loss() {
        double sum = 0;
        for (int sample = 0; sample < SAMPLES; sample++) {
            double margin = output(hidden(sample)) * (2 * label(sample) - 1);
            sum += Math.log1p(Math.exp(-margin));
        }
        return sum / SAMPLES;
    }

    private double[] hidden(int sample) {
        double[] hidden = new double[HIDDEN];
        for (int unit = 0; unit < HIDDEN; unit++) {
            int at = unit * PER_UNIT;
            hidden[unit] =
                    Math.tanh(
                            parameters[at] * x(sample)
                                    + parameters[at + 1] * y(sample)
                                    + parameters[at + 2]);
        }
        return hidden;
    }

    private double output(double[] hidden) {
        double output = parameters[parameters.length - 1];
        for (int unit = 0; unit < HIDDEN; unit++) {
            output += parameters[unit * PER_UNIT + 3] * hidden[unit];
        }
        return output;
    }

    private static double sigmoid(double value) {
        return 1 / (1 + Math.exp(-value));
    }

    private static int label(int sample) {
        return sample % 2;
    }

    private static double x(int sample) {
        return radius(sample) * Math.cos(angle(sample));
    }

    private static double y(int sample) {
        return radius(sample) * Math.sin(angle(sample));
    }

    private static double radius(int sample) {
        return 0.2 + 2.0 * sample / SAMPLES;
    }

    private static double angle(int sample) {
        return 1.5 * Math.PI * sample / SAMPLES + Math.PI * label(sample);
    }
}
