package org.horovod4j.runtime.timeline;

import java.nio.charset.StandardCharsets;

/// Times of a trace in microseconds, kept as a number of eighths.
///
/// Viewers parse the text as a `double` and convert it to nanoseconds. Eighths survive that
/// exactly. With other decimals a slice may become a nanosecond longer than the slice around it,
/// and is then shown in the wrong place or not at all.
final class TraceTime {
    private static final long NANOS_PER_EIGHTH = 125;
    private static final String[] FRACTIONS = {
        "", ".125", ".25", ".375", ".5", ".625", ".75", ".875"
    };
    private static final byte[][] FRACTION_BYTES = bytes(FRACTIONS);

    private TraceTime() {}

    static long eighths(long nanos) {
        return Math.floorDiv(nanos, NANOS_PER_EIGHTH);
    }

    /// The text of a time, which must not be negative.
    static String text(long eighths) {
        return (eighths >> 3) + FRACTIONS[(int) (eighths & 7)];
    }

    /// Appends the same text to a buffer.
    static void put(long eighths, TextBuffer target) {
        target.put(eighths >> 3).put(FRACTION_BYTES[(int) (eighths & 7)]);
    }

    private static byte[][] bytes(String[] texts) {
        byte[][] bytes = new byte[texts.length][];
        for (int i = 0; i < texts.length; i++) {
            bytes[i] = texts[i].getBytes(StandardCharsets.US_ASCII);
        }
        return bytes;
    }
}
