package org.horovod4j.runtime.autotune;

/// What a value is believed to be: normally distributed.
record Prediction(double mean, double deviation) {
    /// Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17: exact to 7.5e-8.
    private static final double[] TAIL = {
        1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530, 0
    };

    private static final double TAIL_SCALE = 0.2316419;

    /// By how much the value is expected to exceed `best`, counting nothing where it does not:
    /// large where the mean is high, and where little is known.
    double expectedImprovement(double best) {
        double gain = mean - best;
        if (deviation == 0) {
            return Math.max(0, gain);
        }
        double z = gain / deviation;
        return Math.max(0, gain * probabilityBelow(z) + deviation * density(z));
    }

    private static double density(double z) {
        return Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI);
    }

    private static double probabilityBelow(double z) {
        double t = 1 / (1 + TAIL_SCALE * Math.abs(z));
        double polynomial = 0;
        for (double coefficient : TAIL) {
            polynomial = polynomial * t + coefficient;
        }
        double tail = density(z) * polynomial;
        return z >= 0 ? 1 - tail : tail;
    }
}
