package org.horovod4j.runtime.timeline;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;

/// What the first event of a file tells about all that follow.
///
/// @param epochMicros when it began, by the clock on the wall
/// @param startNanos when it began, by [System#nanoTime]: all times in the file count from there
record TraceHeader(TraceOwner owner, long epochMicros, long startNanos) {
    private static final String EPOCH = "start_time_since_epoch_in_micros";
    private static final String START = "start_nanos";
    private static final String RANK = "rank";
    private static final String HOST = "host";
    private static final String OFFSET = "clock_offset_nanos";

    static TraceHeader of(TraceOwner owner, Instant start, long startNanos) {
        return new TraceHeader(owner, ChronoUnit.MICROS.between(Instant.EPOCH, start), startNanos);
    }

    /// The beginning as rank 0 would read it from its own [System#nanoTime].
    long startNanosOfRankZero() {
        return startNanos + owner.clockOffsetNanos();
    }

    JsonBuilder arguments() {
        return new JsonBuilder()
                .put("name", "horovod4j")
                .put(EPOCH, epochMicros)
                .put(RANK, owner.rank())
                .put(HOST, owner.host())
                .put(START, startNanos)
                .put(OFFSET, owner.clockOffsetNanos());
    }

    /// The arguments of the event that names the process of a rank among others.
    JsonBuilder arguments(String name, long shiftMicros) {
        return new JsonBuilder().put("name", name).put(EPOCH, epochMicros - shiftMicros);
    }

    /// @throws IllegalArgumentException when something is missing or no number
    static TraceHeader parse(String arguments) {
        Map<String, String> values = new JsonScanner(arguments).object();
        TraceOwner owner =
                new TraceOwner(
                        Math.toIntExact(number(values, RANK)),
                        JsonScanner.unquote(value(values, HOST)),
                        number(values, OFFSET));
        return new TraceHeader(owner, number(values, EPOCH), number(values, START));
    }

    private static long number(Map<String, String> values, String key) {
        return Long.parseLong(value(values, key));
    }

    private static String value(Map<String, String> values, String key) {
        String value = values.get(key);
        if (value == null) {
            throw new IllegalArgumentException("there is no " + key);
        }
        return value;
    }
}
