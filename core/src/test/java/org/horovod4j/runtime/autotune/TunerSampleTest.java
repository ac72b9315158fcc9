package org.horovod4j.runtime.autotune;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TunerSampleTest {
    @Test
    void theScoreIsTheMedianOfBytesPerMicrosecond() {
        TunerSample tunerSample = new TunerSample(3, 0);
        assertThat(tunerSample.add(1_000, 1_000)).isFalse();
        assertThat(tunerSample.add(3_000, 1_000)).isFalse();
        assertThat(tunerSample.add(2_000, 1_000)).isTrue();
        assertThat(tunerSample.score()).isEqualTo(2_000);
    }

    @Test
    void ofAnEvenNumberItIsTheMiddleOfTheTwoMiddleOnes() {
        TunerSample tunerSample = new TunerSample(4, 0);
        tunerSample.add(1_000, 1_000);
        tunerSample.add(1_000_000, 1_000);
        tunerSample.add(2_000, 1_000);
        assertThat(tunerSample.add(4_000, 1_000)).isTrue();
        assertThat(tunerSample.score()).isEqualTo(3_000);
    }

    @Test
    void stepsAfterAChangeAndStepsWithoutBytesDoNotCount() {
        TunerSample tunerSample = new TunerSample(1, 2);
        assertThat(tunerSample.add(7, 1_000)).isFalse();
        assertThat(tunerSample.add(0, 1_000)).isFalse();
        assertThat(tunerSample.add(7, 1_000)).isFalse();
        assertThat(tunerSample.add(5, 0)).isFalse();
        assertThat(tunerSample.add(9, 1_000)).isTrue();
        assertThat(tunerSample.score()).isEqualTo(9);
    }

    @Test
    void whatAByteTakesCountsEveryStep() {
        TunerSample tunerSample = new TunerSample(3, 0);
        tunerSample.add(1_000, 1_000);
        tunerSample.add(1_000, 1_000);
        tunerSample.add(1_000, 7_000);
        assertThat(tunerSample.nanosPerByte()).isEqualTo(3);
    }
}
