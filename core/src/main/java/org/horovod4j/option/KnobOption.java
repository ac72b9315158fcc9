package org.horovod4j.option;

import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;

/// The options that set a part of [org.horovod4j.spi.Tuning]. The autotuner does not change those
/// that the user has set.
public enum KnobOption {
    FUSION_THRESHOLD,
    CYCLE_TIME,
    ROUND_BYTES,
    RING_BYTES,
    STREAMS;

    /// The options that the user has set.
    static Set<KnobOption> setIn(Environment environment) {
        return Arrays.stream(values())
                .filter(knob -> environment.isSet(knob.option()))
                .collect(Collectors.toUnmodifiableSet());
    }

    public String variable() {
        return option().variable();
    }

    private Option<?> option() {
        return switch (this) {
            case FUSION_THRESHOLD -> RuntimeOptions.FUSION_THRESHOLD;
            case CYCLE_TIME -> RuntimeOptions.CYCLE_TIME;
            case ROUND_BYTES -> RuntimeOptions.ROUND_BYTES;
            case RING_BYTES -> RuntimeOptions.RING_BYTES;
            case STREAMS -> Options.TCP_STREAMS;
        };
    }
}
