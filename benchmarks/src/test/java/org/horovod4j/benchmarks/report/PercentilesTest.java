package org.horovod4j.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class PercentilesTest {
    @Test
    void interpolatesBetweenNearestSamples() {
        assertThat(Percentiles.of(4, 1, 3, 2)).isEqualTo(new Percentiles(2.5, 1.3, 3.7));
    }

    @Test
    void oneSampleGivesEqualPercentiles() {
        assertThat(Percentiles.of(7)).isEqualTo(new Percentiles(7, 7, 7));
    }

    @Test
    void doesNotReorderTheSamples() {
        double[] samples = {3, 1, 2};

        Percentiles.of(samples);

        assertThat(samples).containsExactly(3, 1, 2);
    }

    @Test
    void emptySamplesAreRejected() {
        assertThatIllegalArgumentException().isThrownBy(Percentiles::of);
    }
}
