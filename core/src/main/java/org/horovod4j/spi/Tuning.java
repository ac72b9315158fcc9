package org.horovod4j.spi;

import java.time.Duration;

/// The parameters that the autotuner may change while a job runs. Every rank uses the same tuning
/// for the same collective.
///
/// @param fusionThreshold the most bytes that are fused into one batch; 0 fuses nothing
/// @param cycleTime how long a rank collects requests before it sends them
/// @param roundBytes the bytes of a large tensor that are packed, reduced and unpacked at a time
///     within a host
/// @param ringBytes the smallest size for which a ring is used between hosts; 0 leaves the choice
///     to the cost model
/// @param streams the connections between two ranks on different hosts; 0 leaves the choice to the
///     transport
public record Tuning(
        long fusionThreshold, Duration cycleTime, long roundBytes, long ringBytes, int streams) {
    public static final long MIN_ROUND_BYTES = 16 * 1024;
    public static final long MAX_ROUND_BYTES = 512 * 1024;

    public static final Tuning DEFAULT =
            new Tuning(8L * 1024 * 1024, Duration.ZERO, 128 * 1024, 0, 0);

    public Tuning {
        checkNotNegative("fusionThreshold", fusionThreshold);
        if (cycleTime.isNegative()) {
            throw new IllegalArgumentException("cycleTime must not be negative, got " + cycleTime);
        }
        checkNotNegative("ringBytes", ringBytes);
        checkNotNegative("streams", streams);
        if (roundBytes < MIN_ROUND_BYTES || roundBytes > MAX_ROUND_BYTES) {
            throw new IllegalArgumentException(
                    "a round has %d to %d bytes, got %d"
                            .formatted(MIN_ROUND_BYTES, MAX_ROUND_BYTES, roundBytes));
        }
    }

    private static void checkNotNegative(String name, long value) {
        if (value < 0) {
            throw new IllegalArgumentException(name + " must not be negative, got " + value);
        }
    }

    public Tuning withFusionThreshold(long value) {
        return new Tuning(value, cycleTime, roundBytes, ringBytes, streams);
    }

    public Tuning withCycleTime(Duration value) {
        return new Tuning(fusionThreshold, value, roundBytes, ringBytes, streams);
    }

    public Tuning withRoundBytes(long value) {
        return new Tuning(fusionThreshold, cycleTime, value, ringBytes, streams);
    }

    public Tuning withRingBytes(long value) {
        return new Tuning(fusionThreshold, cycleTime, roundBytes, value, streams);
    }

    public Tuning withStreams(int value) {
        return new Tuning(fusionThreshold, cycleTime, roundBytes, ringBytes, value);
    }
}
