package org.horovod4j.runtime.autotune;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.horovod4j.runtime.autotune.Comparison.Verdict;
import org.junit.jupiter.api.Test;

import java.util.function.IntToDoubleFunction;

class ComparisonTest {
    private final Comparison comparison = new Comparison();

    @Test
    void theTurnsAreFairToBoth() {
        StringBuilder turns = new StringBuilder();
        for (int sample = 0; sample < 8; sample++) {
            turns.append(comparison.isCandidatesTurn() ? 'C' : 'D');
            comparison.add(1);
        }
        assertThat(turns).hasToString("DCCDDCCD");
    }

    @Test
    void aClearWinnerIsTakenAfterFourPairs() {
        assertThat(decide(100, 120, i -> 1 + 0.01 * (i % 2))).isEqualTo(8);
        assertThat(comparison.verdict()).isEqualTo(Verdict.CANDIDATE);
        assertThat(comparison.gain()).isCloseTo(0.2, within(0.01));
        assertThat(comparison.candidateScore()).isBetween(120.0, 121.2);
        assertThat(comparison.defaultsScore()).isBetween(100.0, 101.0);
    }

    @Test
    void aClearLoserIsDroppedAfterFourPairs() {
        assertThat(decide(100, 80, i -> 1)).isEqualTo(8);
        assertThat(comparison.verdict()).isEqualTo(Verdict.DEFAULTS);
    }

    @Test
    void aGainSmallerThanTheNoiseIsNone() {
        double[] noise = {1, 1.1, 0.9, 1.05, 0.95, 1.1, 1, 0.9};
        assertThat(decide(100, 102, i -> noise[i % noise.length])).isEqualTo(16);
        assertThat(comparison.verdict()).isEqualTo(Verdict.DEFAULTS);
    }

    @Test
    void aGainTooSmallToMatterIsNone() {
        decide(100, 100.5, i -> 1);
        assertThat(comparison.verdict()).isEqualTo(Verdict.DEFAULTS);
    }

    @Test
    void aMachineThatGetsFasterFavoursNeither() {
        decide(100, 100, i -> Math.pow(1.1, i));
        assertThat(comparison.gain()).isCloseTo(0, within(1e-9));
        assertThat(comparison.verdict()).isEqualTo(Verdict.DEFAULTS);
    }

    /// Compares two scores until there is a verdict.
    ///
    /// @param noise a factor for each sample
    /// @return how many samples it took
    private int decide(double defaults, double candidate, IntToDoubleFunction noise) {
        int samples = 0;
        while (comparison.verdict() == Verdict.UNDECIDED) {
            double score = comparison.isCandidatesTurn() ? candidate : defaults;
            comparison.add(score * noise.applyAsDouble(samples++));
        }
        return samples;
    }
}
