package org.horovod4j.runtime.autotune;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.horovod4j.runtime.autotune.CoordinateSearch.Axis;
import org.horovod4j.spi.Tuning;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.ToDoubleFunction;

class CoordinateSearchTest {
    private static final Tuning DEFAULTS = Tuning.DEFAULT;
    private static final SearchSpace ONE_HOST = SearchSpace.of(4, 1, Set.of());

    /// Horovod's own default, 128 MiB, lies outside what its autotuner can try.
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 5_000_000, 8 << 20, 128 << 20, 1L << 40})
    void theDefaultIsOneOfTheValuesOfAKnob(long fusionThreshold) {
        Tuning defaults = Knob.FUSION_THRESHOLD.withValue(DEFAULTS, fusionThreshold);
        Axis axis = Axis.of(Knob.FUSION_THRESHOLD, defaults);
        assertThat(axis.values()).contains(fusionThreshold).doesNotHaveDuplicates();
        assertThat(axis.move(DEFAULTS, axis.index(defaults))).isEqualTo(defaults);
    }

    @Test
    void theFirstSweepMeasuresBothEndsOfEachKnob() {
        assertThat(measured(7, _ -> 1000))
                .startsWith(
                        DEFAULTS,
                        DEFAULTS.withFusionThreshold(64 << 10),
                        DEFAULTS.withFusionThreshold(256 << 20))
                .contains(
                        Knob.CYCLE_TIME.withValue(DEFAULTS, 6_400_000),
                        DEFAULTS.withRoundBytes(Tuning.MIN_ROUND_BYTES),
                        DEFAULTS.withRoundBytes(Tuning.MAX_ROUND_BYTES));
    }

    /// On a parabola over one knob, the third score finds the top.
    @Test
    void theTopOfAParabolaIsMeasuredNext() {
        long top = 1 << 20;
        assertThat(
                        measured(
                                4,
                                tuning -> {
                                    double away = Math.log(tuning.fusionThreshold() / (double) top);
                                    return 1000 * Math.exp(-away * away / 100);
                                }))
                .last()
                .isEqualTo(DEFAULTS.withFusionThreshold(top));
    }

    /// A disturbed sample hides the better value at first.
    @Test
    void aSweepWithoutGainMeasuresAgain() {
        CoordinateSearch search = new CoordinateSearch(ONE_HOST, DEFAULTS);
        search.observe(DEFAULTS, 1000);
        Tuning better = DEFAULTS.withFusionThreshold(64 << 10);
        int measurements = 0;
        for (int sample = 0; sample < 20; sample++) {
            Tuning next = search.next();
            measurements += next.equals(better) ? 1 : 0;
            search.observe(next, next.equals(better) && measurements > 1 ? 2000 : 500);
        }
        assertThat(search.best()).isEqualTo(better);
    }

    @Test
    void aTuningScoresTheMeanOfItsMeasurements() {
        CoordinateSearch search = new CoordinateSearch(ONE_HOST, DEFAULTS);
        search.observe(DEFAULTS, 100);
        search.observe(DEFAULTS, 400);
        assertThat(search.score(DEFAULTS)).isCloseTo(200, within(1e-9));
        assertThat(search.samples()).isEqualTo(2);
    }

    private static List<Tuning> measured(int samples, ToDoubleFunction<Tuning> score) {
        CoordinateSearch search = new CoordinateSearch(ONE_HOST, DEFAULTS);
        List<Tuning> measured = new ArrayList<>();
        Tuning next = DEFAULTS;
        while (measured.size() < samples) {
            measured.add(next);
            search.observe(next, score.applyAsDouble(next));
            next = search.next();
        }
        return measured;
    }
}
