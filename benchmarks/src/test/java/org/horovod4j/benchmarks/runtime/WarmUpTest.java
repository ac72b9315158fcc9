package org.horovod4j.benchmarks.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WarmUpTest {
    private final WarmUp warmUp = new WarmUp();

    @Test
    void doublesBlocksThatAreTooShortToJudgeBy() {
        warmUp.ran(0.1);
        assertThat(warmUp.steps()).isEqualTo(2);
        warmUp.ran(0.15);
        assertThat(warmUp.steps()).isEqualTo(4);
        warmUp.ran(0.2);
        assertThat(warmUp.steps()).isEqualTo(4);
        assertThat(warmUp.secondsPerStep()).isEqualTo(0.05);
    }

    @Test
    void goesOnWhileStepsGetFaster() {
        for (double seconds : new double[] {0.8, 0.6, 0.5, 0.4, 0.3}) {
            warmUp.ran(seconds);
            assertThat(warmUp.isOver()).isFalse();
        }
        warmUp.ran(0.3);
        assertThat(warmUp.isOver()).isFalse();
        warmUp.ran(0.31);
        assertThat(warmUp.isOver()).isTrue();
    }

    @Test
    void lastsASecondEvenIfStepsAreAlikeFromTheStart() {
        for (int block = 0; block < 4; block++) {
            warmUp.ran(0.24);
            assertThat(warmUp.isOver()).isFalse();
        }
        warmUp.ran(0.24);
        assertThat(warmUp.isOver()).isTrue();
    }

    @Test
    void endsOnAMachineThatNeverSettles() {
        warmUp.ran(2.5);
        warmUp.ran(1.5);
        assertThat(warmUp.isOver()).isFalse();
        warmUp.ran(3);
        assertThat(warmUp.isOver()).isTrue();
    }
}
