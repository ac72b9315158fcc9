package org.horovod4j.runtime.autotune;

import java.util.ArrayList;
import java.util.List;

/// Measures the best candidate against the defaults by turns, and takes it only if it is faster by more
/// than the noise.
///
/// The search cannot answer this itself: the highest of many noisy scores is high by luck as well. Here
/// samples come in pairs, close in time; the one of the defaults is first and second by turns, so that a
/// machine that slowly gets faster favours neither. After a few pairs, Student's t-test asks whether the
/// mean of the logarithms of their ratios lies above the least gain.
final class Comparison {
    /// A gain below one per cent is not worth being different from the defaults.
    private static final double LEAST_GAIN = Math.log(1.01);

    /// Student's t for an error of one in a hundred, by pairs; fewer pairs decide nothing.
    private static final double[] T = {0, 0, 0, 0, 4.541, 3.747, 3.365, 3.143, 2.998};

    private static final int MIN_PAIRS = 4;

    static final int MAX_PAIRS = T.length - 1;

    private final List<Double> gains = new ArrayList<>();
    private double logSumOfCandidate;
    private double logSumOfDefaults;
    private double firstOfPair;
    private int samples;

    enum Verdict {
        UNDECIDED,
        CANDIDATE,
        DEFAULTS
    }

    /// Whose turn it is: defaults, candidate, candidate, defaults, and so on.
    boolean isCandidatesTurn() {
        return samples % 4 == 1 || samples % 4 == 2;
    }

    /// Adds the score of the one whose turn it is.
    void add(double score) {
        double log = Math.log(score);
        boolean isCandidate = isCandidatesTurn();
        if (isCandidate) {
            logSumOfCandidate += log;
        } else {
            logSumOfDefaults += log;
        }
        if (samples++ % 2 == 0) {
            firstOfPair = log;
        } else {
            gains.add(isCandidate ? log - firstOfPair : firstOfPair - log);
        }
    }

    Verdict verdict() {
        int pairs = gains.size();
        if (samples % 2 == 1 || pairs < MIN_PAIRS) {
            return Verdict.UNDECIDED;
        }
        double mean = mean(gains);
        double doubt = T[pairs] * deviation(gains) / Math.sqrt(pairs);
        if (mean - doubt > LEAST_GAIN) {
            return Verdict.CANDIDATE;
        }
        return pairs == MAX_PAIRS || mean + doubt < LEAST_GAIN
                ? Verdict.DEFAULTS
                : Verdict.UNDECIDED;
    }

    /// By which factor the candidate is faster, less 1.
    double gain() {
        return Math.expm1(mean(gains));
    }

    double candidateScore() {
        return Math.exp(logSumOfCandidate / gains.size());
    }

    double defaultsScore() {
        return Math.exp(logSumOfDefaults / gains.size());
    }

    private static double mean(List<Double> values) {
        return values.stream().mapToDouble(value -> value).average().orElseThrow();
    }

    private static double deviation(List<Double> values) {
        double mean = mean(values);
        double squares =
                values.stream().mapToDouble(value -> (value - mean) * (value - mean)).sum();
        return Math.sqrt(squares / (values.size() - 1));
    }
}
