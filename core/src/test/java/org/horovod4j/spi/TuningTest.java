package org.horovod4j.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

import java.time.Duration;

class TuningTest {
    private static final Tuning DEFAULT = Tuning.DEFAULT;

    @Test
    void aNegativeValueIsRejectedByName() {
        assertRejected(
                "fusionThreshold must not be negative, got -1",
                () -> DEFAULT.withFusionThreshold(-1));
        assertRejected(
                "cycleTime must not be negative, got PT-0.001S",
                () -> DEFAULT.withCycleTime(Duration.ofMillis(-1)));
        assertRejected("ringBytes must not be negative, got -2", () -> DEFAULT.withRingBytes(-2));
        assertRejected("streams must not be negative, got -3", () -> DEFAULT.withStreams(-3));
    }

    @Test
    void roundBytesOutsideItsBoundsIsRejected() {
        assertRejected(
                "a round has 16384 to 524288 bytes, got 16383",
                () -> DEFAULT.withRoundBytes(Tuning.MIN_ROUND_BYTES - 1));
        assertRejected(
                "a round has 16384 to 524288 bytes, got 524289",
                () -> DEFAULT.withRoundBytes(Tuning.MAX_ROUND_BYTES + 1));
    }

    private static void assertRejected(String message, Executable creation) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, creation).getMessage());
    }
}
