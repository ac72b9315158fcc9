package org.horovod4j.runtime.autotune;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SampleTest {
    @Test
    void theScoreIsTheMedianOfBytesPerMicrosecond() {
        Sample sample = new Sample(3, 0);
        assertThat(sample.add(1_000, 1_000)).isFalse();
        assertThat(sample.add(3_000, 1_000)).isFalse();
        assertThat(sample.add(2_000, 1_000)).isTrue();
        assertThat(sample.score()).isEqualTo(2_000);
    }

    @Test
    void ofAnEvenNumberItIsTheMiddleOfTheTwoMiddleOnes() {
        Sample sample = new Sample(4, 0);
        sample.add(1_000, 1_000);
        sample.add(1_000_000, 1_000);
        sample.add(2_000, 1_000);
        assertThat(sample.add(4_000, 1_000)).isTrue();
        assertThat(sample.score()).isEqualTo(3_000);
    }

    @Test
    void stepsAfterAChangeAndStepsWithoutBytesDoNotCount() {
        Sample sample = new Sample(1, 2);
        assertThat(sample.add(7, 1_000)).isFalse();
        assertThat(sample.add(0, 1_000)).isFalse();
        assertThat(sample.add(7, 1_000)).isFalse();
        assertThat(sample.add(5, 0)).isFalse();
        assertThat(sample.add(9, 1_000)).isTrue();
        assertThat(sample.score()).isEqualTo(9);
    }

    @Test
    void whatAByteTakesCountsEveryStep() {
        Sample sample = new Sample(3, 0);
        sample.add(1_000, 1_000);
        sample.add(1_000, 1_000);
        sample.add(1_000, 7_000);
        assertThat(sample.nanosPerByte()).isEqualTo(3);
    }
}
