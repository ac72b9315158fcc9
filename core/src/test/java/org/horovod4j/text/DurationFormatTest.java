package org.horovod4j.text;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.time.Duration;

final class DurationFormatTest {
    @Test
    void configuredTimeIsExact() {
        assertThat(DurationFormat.seconds(Duration.ofSeconds(10))).isEqualTo("10 s");
        assertThat(DurationFormat.seconds(Duration.ofMillis(500))).isEqualTo("0.5 s");
    }

    @Test
    void measuredTimeIsRounded() {
        assertThat(DurationFormat.roundedSeconds(Duration.ofMillis(249))).isEqualTo("0.2 s");
        assertThat(DurationFormat.roundedSeconds(Duration.ofSeconds(3))).isEqualTo("3.0 s");
    }
}
