package org.horovod4j.runtime.timeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.runtime.timeline.ClockOffset.Sample;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

final class ClockOffsetTest {
    @Test
    void shortestRoundTripDeterminesTheOffset() {
        ClockOffset offset =
                ClockOffset.of(
                        List.of(
                                new Sample(1000, 9000, 3000),
                                new Sample(4000, 5100, 4200),
                                new Sample(6000, 0, 9000)));
        assertThat(offset).isEqualTo(new ClockOffset(1000, 200));
    }

    @ParameterizedTest(name = "seed {0}")
    @ValueSource(longs = {1, 2, 3})
    void theErrorIsNeverLargerThanHalfTheRoundTrip(long seed) {
        Random random = new Random(seed);
        for (int i = 0; i < 1000; i++) {
            long truth = random.nextLong(-1L << 60, 1L << 60);
            List<Sample> samples = new ArrayList<>();
            for (int s = 0; s < 8; s++) {
                long sent = random.nextLong(1L << 50);
                long there = random.nextLong(50_000);
                long back = random.nextLong(50_000);
                samples.add(new Sample(sent, sent + there + truth, sent + there + back));
            }
            ClockOffset offset = ClockOffset.of(samples);
            assertThat(Math.abs(offset.nanos() - truth))
                    .isLessThanOrEqualTo((offset.roundTripNanos() + 1) / 2);
        }
    }

    @Test
    void withoutSamplesThereIsNoOffset() {
        assertThatThrownBy(() -> ClockOffset.of(List.of()))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Sample(10, 5, 9))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("1 ns before");
    }
}
