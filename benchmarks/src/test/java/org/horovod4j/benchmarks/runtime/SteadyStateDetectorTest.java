package org.horovod4j.benchmarks.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SteadyStateDetectorTest {
    private final SteadyStateDetector steadyStateDetector = new SteadyStateDetector();

    @Test
    void shortBlocksDoubleTheNextBlock() {
        steadyStateDetector.recordBlock(0.1);
        assertThat(steadyStateDetector.nextBlockSteps()).isEqualTo(2);
        steadyStateDetector.recordBlock(0.15);
        assertThat(steadyStateDetector.nextBlockSteps()).isEqualTo(4);
        steadyStateDetector.recordBlock(0.2);
        assertThat(steadyStateDetector.nextBlockSteps()).isEqualTo(4);
        assertThat(steadyStateDetector.secondsPerStep()).isEqualTo(0.05);
    }

    @Test
    void continuesWhileStepsGetFaster() {
        for (double seconds : new double[] {0.8, 0.6, 0.5, 0.4, 0.3}) {
            steadyStateDetector.recordBlock(seconds);
            assertThat(steadyStateDetector.isOver()).isFalse();
        }
        steadyStateDetector.recordBlock(0.3);
        assertThat(steadyStateDetector.isOver()).isFalse();
        steadyStateDetector.recordBlock(0.31);
        assertThat(steadyStateDetector.isOver()).isTrue();
    }

    @Test
    void lastsAtLeastOneSecond() {
        for (int block = 0; block < 4; block++) {
            steadyStateDetector.recordBlock(0.24);
            assertThat(steadyStateDetector.isOver()).isFalse();
        }
        steadyStateDetector.recordBlock(0.24);
        assertThat(steadyStateDetector.isOver()).isTrue();
    }

    @Test
    void stopsAtTheTimeLimitIfTimesNeverStabilize() {
        steadyStateDetector.recordBlock(2.5);
        steadyStateDetector.recordBlock(1.5);
        assertThat(steadyStateDetector.isOver()).isFalse();
        steadyStateDetector.recordBlock(3);
        assertThat(steadyStateDetector.isOver()).isTrue();
    }
}
