package org.horovod4j.runtime.autotune;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.horovod4j.runtime.autotune.TuningComparison.Verdict;
import org.junit.jupiter.api.Test;

import java.util.SplittableRandom;
import java.util.function.IntToDoubleFunction;
import java.util.stream.LongStream;

class TuningComparisonTest {
    private static final long BYTES = 1_000_000;

    private final TuningComparison tuningComparison = new TuningComparison();

    @Test
    void turnsAlternateFairly() {
        StringBuilder turns = new StringBuilder();
        for (int sample = 0; sample < 8; sample++) {
            turns.append(tuningComparison.isCandidatesTurn() ? 'C' : 'D');
            tuningComparison.add(sample(1, 1));
        }
        assertThat(turns).hasToString("DCCDDCCD");
    }

    @Test
    void clearWinnerIsAcceptedAfterEightPairs() {
        assertThat(decide(100, 120, i -> 1 + 0.01 * (i % 2))).isEqualTo(16);
        assertThat(tuningComparison.verdict()).isEqualTo(Verdict.CANDIDATE);
        assertThat(tuningComparison.gain()).isCloseTo(0.2, within(0.01));
        assertThat(tuningComparison.candidateScore()).isBetween(120.0, 121.2);
        assertThat(tuningComparison.defaultsScore()).isBetween(100.0, 101.0);
    }

    @Test
    void aClearLoserIsDroppedAfterSixPairs() {
        assertThat(decide(100, 80, i -> 1)).isEqualTo(12);
        assertThat(tuningComparison.verdict()).isEqualTo(Verdict.DEFAULTS);
    }

    /// The candidate has samples 1, 2, 5, 6, and so on; the load is on some of them.
    @Test
    void aWinnerMayLoseFivePairsToBurstsOfLoad() {
        assertThat(decide(100, 150, i -> i % 8 == 1 && i < 40 ? 0.5 : 1)).isEqualTo(46);
        assertThat(tuningComparison.verdict()).isEqualTo(Verdict.CANDIDATE);
        assertThat(tuningComparison.gain()).isCloseTo(0.5, within(1e-6));
    }

    @Test
    void sixLostPairsAreTooMany() {
        decide(100, 150, i -> i % 8 == 1 && i < 48 ? 0.5 : 1);
        assertThat(tuningComparison.verdict()).isEqualTo(Verdict.DEFAULTS);
    }

    @Test
    void gainBelowTheMinimumDoesNotCount() {
        decide(100, 101.5, i -> 1);
        assertThat(tuningComparison.verdict()).isEqualTo(Verdict.DEFAULTS);
    }

    @Test
    void aMachineThatGetsFasterFavoursNeither() {
        decide(100, 100, i -> Math.pow(1.1, i));
        assertThat(tuningComparison.verdict()).isEqualTo(Verdict.DEFAULTS);
    }

    /// The median of three steps does not show the slow one.
    @Test
    void slowerTotalTimeRejectsACandidateWithFasterMedian() {
        while (tuningComparison.verdict() == Verdict.UNDECIDED) {
            tuningComparison.add(
                    tuningComparison.isCandidatesTurn()
                            ? sample(120, 120, 20)
                            : sample(100, 100, 100));
        }
        assertThat(tuningComparison.gain()).isCloseTo(0.2, within(1e-6));
        assertThat(tuningComparison.verdict()).isEqualTo(Verdict.DEFAULTS);
    }

    /// The probability that the class promises, at the minimum gain.
    @Test
    void equalCandidateIsAcceptedLessThanOnceInFifty() {
        SplittableRandom random = new SplittableRandom(1);
        int trials = 20_000;
        long taken =
                LongStream.range(0, trials)
                        .filter(_ -> byChance(random) == Verdict.CANDIDATE)
                        .count();
        assertThat(taken / (double) trials).isBetween(0.01, 0.02);
    }

    private static Verdict byChance(SplittableRandom random) {
        TuningComparison tuningComparison = new TuningComparison();
        while (tuningComparison.verdict() == Verdict.UNDECIDED) {
            double luck = Math.exp(random.nextGaussian() / 10);
            tuningComparison.add(sample((tuningComparison.isCandidatesTurn() ? 102 : 100) * luck));
        }
        return tuningComparison.verdict();
    }

    /// Compares two scores until there is a verdict.
    ///
    /// @param noise a factor for each sample
    /// @return the number of samples
    private int decide(double defaults, double candidate, IntToDoubleFunction noise) {
        int samples = 0;
        while (tuningComparison.verdict() == Verdict.UNDECIDED) {
            double score = tuningComparison.isCandidatesTurn() ? candidate : defaults;
            tuningComparison.add(sample(score * noise.applyAsDouble(samples++)));
        }
        return samples;
    }

    /// @param rates of its steps, in bytes per microsecond
    private static TunerSample sample(double... rates) {
        TunerSample tunerSample = new TunerSample(rates.length, 0);
        for (double rate : rates) {
            tunerSample.add(BYTES, Math.round(BYTES * 1e3 / rate));
        }
        return tunerSample;
    }
}
