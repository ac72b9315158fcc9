package org.horovod4j.runtime.autotune;

import java.util.ArrayList;
import java.util.List;

/// Compares the best candidate with the defaults, and accepts it only if it is faster with high
/// confidence.
///
/// The search cannot answer this: the highest of many noisy scores is partly luck. Here samples
/// come in pairs, close in time. Either comes first in turn, so that a machine that slowly gets
/// faster favours neither. The candidate wins a pair if it is faster by more than the minimum gain,
/// and a sign test over the pairs decides. So a pair that other load has disturbed counts as one
/// pair only, however large its difference.
///
/// Eight wins suffice, and two more for each lost pair; the sixth loss ends the comparison. A
/// candidate that is no better than the defaults passes in less than one of fifty cases, and a
/// slower one almost never. Scores are medians, which do not show what fewer than half of the steps
/// suffer. So the candidate must also need less time for all its steps together.
final class TuningComparison {
    /// A gain below two per cent is not worth a change.
    private static final double MIN_GAIN = Math.log(1.02);

    private static final int WINS = 8;
    private static final int WINS_FOR_A_LOSS = 2;
    private static final int MAX_LOSSES = 5;

    static final int MAX_PAIRS = WINS + (WINS_FOR_A_LOSS + 1) * MAX_LOSSES;

    private final Measurements defaults = new Measurements();
    private final Measurements candidate = new Measurements();

    enum Verdict {
        UNDECIDED,
        CANDIDATE,
        DEFAULTS
    }

    /// The order is defaults, candidate, candidate, defaults, and so on.
    boolean isCandidatesTurn() {
        int samples = defaults.logs.size() + candidate.logs.size();
        return samples % 4 == 1 || samples % 4 == 2;
    }

    /// Adds the next sample.
    void add(TunerSample tunerSample) {
        (isCandidatesTurn() ? candidate : defaults).add(tunerSample);
    }

    Verdict verdict() {
        if (defaults.logs.size() != candidate.logs.size()) {
            return Verdict.UNDECIDED;
        }
        List<Double> gains = gains();
        int wins = (int) gains.stream().filter(gain -> gain > MIN_GAIN).count();
        int losses = gains.size() - wins;
        if (losses > MAX_LOSSES) {
            return Verdict.DEFAULTS;
        }
        if (wins < WINS + WINS_FOR_A_LOSS * losses) {
            return Verdict.UNDECIDED;
        }
        return candidate.nanosPerByte < defaults.nanosPerByte
                ? Verdict.CANDIDATE
                : Verdict.DEFAULTS;
    }

    /// The gain of the candidate: the median over the pairs.
    double gain() {
        return Math.expm1(TunerSample.median(gains()));
    }

    double candidateScore() {
        return candidate.score();
    }

    double defaultsScore() {
        return defaults.score();
    }

    private List<Double> gains() {
        List<Double> gains = new ArrayList<>();
        for (int pair = 0; pair < defaults.logs.size(); pair++) {
            gains.add(candidate.logs.get(pair) - defaults.logs.get(pair));
        }
        return gains;
    }

    /// The measurements of one of the two: the logarithms of its scores, and the sum of its
    /// nanoseconds per byte.
    private static final class Measurements {
        private final List<Double> logs = new ArrayList<>();
        private double nanosPerByte;

        void add(TunerSample tunerSample) {
            logs.add(Math.log(tunerSample.score()));
            nanosPerByte += tunerSample.nanosPerByte();
        }

        double score() {
            return Math.exp(TunerSample.median(logs));
        }
    }
}
