package org.horovod4j.runtime.autotune;

import org.horovod4j.option.KnobOption;
import org.horovod4j.spi.Tuning;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.Locale;
import java.util.stream.LongStream;

/// One value of a [Tuning], and the candidates for it.
///
/// Each candidate is twice the one before, because the effect of a knob depends on its order of
/// magnitude. For most knobs 0 has a special meaning ("at once", "automatic"); it takes the place
/// of the value that it acts like.
public enum Knob {
    FUSION_THRESHOLD(KnobOption.FUSION_THRESHOLD, 64 * Knob.KIB, 256 * Knob.MIB, 32 * Knob.KIB) {
        @Override
        long read(Tuning tuning) {
            return tuning.fusionThreshold();
        }

        @Override
        Tuning withValue(Tuning tuning, long value) {
            return tuning.withFusionThreshold(value);
        }
    },

    /// In nanoseconds. Less than 25 microseconds acts like 0.
    CYCLE_TIME(KnobOption.CYCLE_TIME, 25_000, 6_400_000, 25_000) {
        @Override
        long read(Tuning tuning) {
            return tuning.cycleTime().toNanos();
        }

        @Override
        Tuning withValue(Tuning tuning, long value) {
            return tuning.withCycleTime(Duration.ofNanos(value));
        }

        @Override
        String column() {
            return "cycle_time_ms";
        }

        @Override
        String describe(long value) {
            return text(value) + " ms";
        }

        @Override
        String text(long value) {
            return BigDecimal.valueOf(value, NANO_DIGITS).stripTrailingZeros().toPlainString();
        }

        @Override
        long parse(String text) {
            return new BigDecimal(text).scaleByPowerOfTen(NANO_DIGITS).longValueExact();
        }
    },

    ROUND_BYTES(
            KnobOption.ROUND_BYTES,
            Tuning.MIN_ROUND_BYTES,
            Tuning.MAX_ROUND_BYTES,
            Tuning.MIN_ROUND_BYTES / 2) {
        @Override
        long read(Tuning tuning) {
            return tuning.roundBytes();
        }

        @Override
        Tuning withValue(Tuning tuning, long value) {
            return tuning.withRoundBytes(value);
        }
    },

    /// With 0 the cost model decides; it switches to the ring near half a mebibyte with a few
    /// hosts.
    RING_BYTES(KnobOption.RING_BYTES, 16 * Knob.KIB, 64 * Knob.MIB, 512 * Knob.KIB) {
        @Override
        long read(Tuning tuning) {
            return tuning.ringBytes();
        }

        @Override
        Tuning withValue(Tuning tuning, long value) {
            return tuning.withRingBytes(value);
        }

        @Override
        String describe(long value) {
            return value == 0 ? "auto" : super.describe(value);
        }
    },

    /// With 0 the transport decides, and opens two.
    STREAMS(KnobOption.STREAMS, 1, 16, 2) {
        @Override
        long read(Tuning tuning) {
            return tuning.streams();
        }

        @Override
        Tuning withValue(Tuning tuning, long value) {
            return tuning.withStreams(Math.toIntExact(value));
        }

        @Override
        String describe(long value) {
            return value == 0 ? "auto" : text(value);
        }

        @Override
        long parse(String text) {
            return Integer.parseInt(text);
        }
    };

    private static final long KIB = 1024;
    private static final long MIB = 1024 * KIB;
    private static final int NANO_DIGITS = 6;

    private final KnobOption option;
    private final long min;
    private final long max;
    private final long zeroEquivalent;

    Knob(KnobOption option, long min, long max, long zeroEquivalent) {
        this.option = option;
        this.min = min;
        this.max = max;
        this.zeroEquivalent = zeroEquivalent;
    }

    /// The knob that `option` sets.
    public static Knob of(KnobOption option) {
        return switch (option) {
            case FUSION_THRESHOLD -> FUSION_THRESHOLD;
            case CYCLE_TIME -> CYCLE_TIME;
            case ROUND_BYTES -> ROUND_BYTES;
            case RING_BYTES -> RING_BYTES;
            case STREAMS -> STREAMS;
        };
    }

    abstract long read(Tuning tuning);

    /// The same tuning with this knob at `value`.
    abstract Tuning withValue(Tuning tuning, long value);

    /// The candidates, ascending.
    LongStream candidateValues() {
        return LongStream.iterate(min, value -> value <= max, value -> 2 * value)
                .map(value -> value == zeroEquivalent ? 0 : value);
    }

    /// The place of a value on the logarithmic scale.
    double logScale(long value) {
        return Math.log((double) (value == 0 ? zeroEquivalent : value));
    }

    /// The environment variable that fixes this knob.
    String variable() {
        return option.variable();
    }

    /// The header of its column in the log.
    String column() {
        return name().toLowerCase(Locale.ROOT);
    }

    /// Knob and value as text: "fusion-threshold 8M".
    String show(Tuning tuning) {
        return name().toLowerCase(Locale.ROOT).replace('_', '-') + " " + describe(read(tuning));
    }

    String describe(long value) {
        if (value >= MIB && value % MIB == 0) {
            return value / MIB + "M";
        }
        return value >= KIB && value % KIB == 0 ? value / KIB + "K" : text(value);
    }

    /// A value in the format of its option.
    String text(long value) {
        return Long.toString(value);
    }

    /// Reads what [#text] writes.
    ///
    /// @throws IllegalArgumentException or [ArithmeticException] for any other text
    long parse(String text) {
        return Long.parseLong(text);
    }
}
