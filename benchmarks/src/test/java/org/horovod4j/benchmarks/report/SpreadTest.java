package org.horovod4j.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class SpreadTest {
    @Test
    void liesBetweenTheNearestSamples() {
        assertThat(Spread.of(4, 1, 3, 2)).isEqualTo(new Spread(2.5, 1.3, 3.7));
    }

    @Test
    void oneSampleHasNoSpread() {
        assertThat(Spread.of(7)).isEqualTo(new Spread(7, 7, 7));
    }

    @Test
    void leavesTheSamplesInTheirOrder() {
        double[] samples = {3, 1, 2};

        Spread.of(samples);

        assertThat(samples).containsExactly(3, 1, 2);
    }

    @Test
    void needsASample() {
        assertThatIllegalArgumentException().isThrownBy(Spread::of);
    }
}
