package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.BitSet;

class StepDetectorTest {
    private final StepDetector stepDetector = new StepDetector();

    private static BitSet trainable(int... parameters) {
        BitSet set = new BitSet();
        for (int parameter : parameters) {
            set.set(parameter);
        }
        return set;
    }

    /// Updates `parameter` as the optimizer does.
    private boolean begins(int parameter, BitSet trainable) {
        boolean begins = stepDetector.beginsStep(parameter);
        if (begins) {
            stepDetector.begin(trainable);
        }
        stepDetector.markUpdated(parameter);
        return begins;
    }

    @Test
    void stepBeginsWhenParameterRepeats() {
        assertThat(begins(1, trainable(0, 1, 2))).isTrue();
        assertThat(begins(0, trainable(0, 1, 2))).isFalse();
        // the framework leaves out parameter 2, which was never used
        assertThat(begins(1, trainable(0, 1, 2))).isTrue();
        assertThat(begins(0, trainable(0, 1, 2))).isFalse();
    }

    @Test
    void stepMayBeginWithAnyParameter() {
        assertThat(begins(0, trainable(0, 1))).isTrue();
        assertThat(begins(1, trainable(0, 1))).isFalse();
        assertThat(begins(1, trainable(0, 1))).isTrue();
        assertThat(begins(0, trainable(0, 1))).isFalse();
    }

    @Test
    void stepBeginsWithUnfrozenParameter() {
        assertThat(begins(0, trainable(0, 1))).isTrue();
        assertThat(begins(2, trainable(2, 3))).isTrue();
        assertThat(begins(0, trainable(0, 1))).isTrue();
    }
}
