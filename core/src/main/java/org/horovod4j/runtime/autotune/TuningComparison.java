package org.horovod4j.runtime.autotune;

import java.util.ArrayList;
import java.util.List;

/// Measures the best candidate against the defaults by turns, and takes it only if it is surely
/// faster.
///
/// The search cannot answer this itself: the highest of many noisy scores is high by luck as well.
/// Here samples come in pairs, close in time; the one of the defaults is first and second by turns,
/// so that a machine that slowly gets faster favours neither. The candidate wins a pair by more
/// than the least gain, and a sign test over the pairs decides: how far apart the two are does not
/// count, so a pair that a burst of other load has spoilt is one pair, whatever it shows.
///
/// Eight wins suffice, and two more for each pair lost; the sixth loss is the last. One that is no
/// better than the defaults passes this less than once in fifty times, one that is worse hardly
/// ever. Scores are medians, and blind to what less than half of the steps suffer; so the candidate
/// must also have spent less time on all its steps together, the slow ones included.
final class TuningComparison {
    /// A gain below two per cent is not worth being different from the defaults.
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

    /// Whose turn it is: defaults, candidate, candidate, defaults, and so on.
    boolean isCandidatesTurn() {
        int samples = defaults.logs.size() + candidate.logs.size();
        return samples % 4 == 1 || samples % 4 == 2;
    }

    /// Adds a sample of the one whose turn it is.
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

    /// By which factor the candidate is faster, less 1: the median over the pairs.
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

    /// What was measured of one of the two: the logarithms of its scores, and what a byte took on
    /// average, summed over its samples.
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
