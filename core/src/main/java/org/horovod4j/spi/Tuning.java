package org.horovod4j.spi;

import java.time.Duration;

/// What may be turned while a job runs, by the autotuner or not at all. Every rank uses the same
/// tuning for the same operation.
///
/// @param fusionThreshold how many bytes travel together at most; 0 fuses nothing
/// @param cycleTime how long a rank collects requests before it sends them
/// @param roundBytes how much of a large tensor is packed, reduced and unpacked at a time inside a
///     host
/// @param ringBytes from where on a ring is used between hosts; 0 leaves that to the cost model
/// @param streams connections between each two hosts' ranks; 0 leaves that to the transport
public record Tuning(
        long fusionThreshold, Duration cycleTime, long roundBytes, long ringBytes, int streams) {
    public static final long MIN_ROUND_BYTES = 16 * 1024;
    public static final long MAX_ROUND_BYTES = 512 * 1024;

    public static final Tuning DEFAULT =
            new Tuning(8L * 1024 * 1024, Duration.ZERO, 128 * 1024, 0, 0);

    public Tuning {
        if (fusionThreshold < 0 || cycleTime.isNegative() || ringBytes < 0 || streams < 0) {
            throw new IllegalArgumentException(
                    "not negative: " + fusionThreshold + ", " + cycleTime);
        }
        if (roundBytes < MIN_ROUND_BYTES || roundBytes > MAX_ROUND_BYTES) {
            throw new IllegalArgumentException(
                    "a round has %d to %d bytes, not %d"
                            .formatted(MIN_ROUND_BYTES, MAX_ROUND_BYTES, roundBytes));
        }
    }

    public Tuning withFusionThreshold(long another) {
        return new Tuning(another, cycleTime, roundBytes, ringBytes, streams);
    }

    public Tuning withCycleTime(Duration another) {
        return new Tuning(fusionThreshold, another, roundBytes, ringBytes, streams);
    }

    public Tuning withRoundBytes(long another) {
        return new Tuning(fusionThreshold, cycleTime, another, ringBytes, streams);
    }

    public Tuning withRingBytes(long another) {
        return new Tuning(fusionThreshold, cycleTime, roundBytes, another, streams);
    }

    public Tuning withStreams(int another) {
        return new Tuning(fusionThreshold, cycleTime, roundBytes, ringBytes, another);
    }
}
