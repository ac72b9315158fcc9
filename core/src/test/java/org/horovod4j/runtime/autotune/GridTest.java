package org.horovod4j.runtime.autotune;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.spi.Tuning;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

class GridTest {
    private static final SearchSpace ONE_HOST = SearchSpace.of(4, 1, Set.of());
    private static final SearchSpace TWO_HOSTS = SearchSpace.of(8, 2, Set.of());
    private static final int ALL = Integer.MAX_VALUE;

    /// Horovod's own default, 128 MiB, lies outside what its autotuner can try.
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 5_000_000, 8 << 20, 128 << 20, 1L << 40})
    void theDefaultsLieInside(long fusionThreshold) {
        Tuning defaults = Knob.FUSION_THRESHOLD.withValue(Tuning.DEFAULT, fusionThreshold);
        Grid grid = new Grid(ONE_HOST, defaults);
        assertThat(all(grid)).contains(defaults);
        assertThat(grid.nearest(grid.position(defaults))).isEqualTo(defaults);
        assertThat(all(grid)).allSatisfy(tuning -> assertInside(grid.position(tuning)));
    }

    private static void assertInside(double[] position) {
        for (double coordinate : position) {
            assertThat(coordinate).isBetween(0.0, 1.0);
        }
    }

    @ParameterizedTest
    @EnumSource(Knob.class)
    void theValuesOfAKnobRiseByEvenSteps(Knob knob) {
        double[] places = knob.candidateValues().mapToDouble(knob::logScale).toArray();
        for (int i = 1; i < places.length; i++) {
            assertThat(places[i] - places[i - 1]).isBetween(0.69, 0.70);
        }
    }

    @ParameterizedTest
    @EnumSource(Knob.class)
    void aValueIsReadBackFromItsText(Knob knob) {
        knob.candidateValues()
                .forEach(value -> assertThat(knob.parse(knob.text(value))).isEqualTo(value));
    }

    @Test
    void noTuningComesTwice() {
        assertThat(all(new Grid(ONE_HOST, Tuning.DEFAULT)))
                .doesNotHaveDuplicates()
                .hasSize(13 * 9 * 6);
    }

    @Test
    void aLargeGridIsSampled() {
        Grid grid = new Grid(TWO_HOSTS, Tuning.DEFAULT);
        assertThat(grid.candidates(2000, new SplittableRandom(1))).hasSize(2000);
    }

    @Test
    void neighboursDifferByOneStepOfOneKnob() {
        Grid grid = new Grid(ONE_HOST, Tuning.DEFAULT);
        assertThat(grid.neighbours(Tuning.DEFAULT))
                .containsExactly(
                        Knob.FUSION_THRESHOLD.withValue(Tuning.DEFAULT, 4 << 20),
                        Knob.FUSION_THRESHOLD.withValue(Tuning.DEFAULT, 16 << 20),
                        Knob.CYCLE_TIME.withValue(Tuning.DEFAULT, 50_000),
                        Knob.ROUND_BYTES.withValue(Tuning.DEFAULT, 64 << 10),
                        Knob.ROUND_BYTES.withValue(Tuning.DEFAULT, 256 << 10));
    }

    private static List<Tuning> all(Grid grid) {
        return grid.candidates(ALL, new SplittableRandom(0));
    }
}
