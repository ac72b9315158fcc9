package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.BitSet;

class StepsTest {
    private final Steps steps = new Steps();

    private static BitSet trainable(int... parameters) {
        BitSet set = new BitSet();
        for (int parameter : parameters) {
            set.set(parameter);
        }
        return set;
    }

    /// Updates `parameter` as the optimizer does.
    private boolean begins(int parameter, BitSet trainable) {
        boolean begins = steps.beginsWith(parameter);
        if (begins) {
            steps.begin(trainable);
        }
        steps.updated(parameter);
        return begins;
    }

    @Test
    void aStepBeginsWhenAParameterHasItsTurnAgain() {
        assertThat(begins(1, trainable(0, 1, 2))).isTrue();
        assertThat(begins(0, trainable(0, 1, 2))).isFalse();
        // 2 was never used, so DJL leaves it out
        assertThat(begins(1, trainable(0, 1, 2))).isTrue();
        assertThat(begins(0, trainable(0, 1, 2))).isFalse();
    }

    @Test
    void aStepBeginsInAnyOrder() {
        assertThat(begins(0, trainable(0, 1))).isTrue();
        assertThat(begins(1, trainable(0, 1))).isFalse();
        assertThat(begins(1, trainable(0, 1))).isTrue();
        assertThat(begins(0, trainable(0, 1))).isFalse();
    }

    @Test
    void aStepBeginsWithWhatWasFrozenBefore() {
        assertThat(begins(0, trainable(0, 1))).isTrue();
        assertThat(begins(2, trainable(2, 3))).isTrue();
        assertThat(begins(0, trainable(0, 1))).isTrue();
    }
}
