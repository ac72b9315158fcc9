package org.horovod4j.benchmarks.report;

import java.util.Locale;

/// Formats quantities with three digits and a fitting unit.
public final class Units {
    private static final long KIB = 1L << 10;
    private static final long MIB = 1L << 20;

    private Units() {}

    public static String bytes(long byteSize) {
        if (byteSize >= MIB && byteSize % MIB == 0) {
            return byteSize / MIB + " MiB";
        }
        if (byteSize >= KIB && byteSize % KIB == 0) {
            return byteSize / KIB + " KiB";
        }
        return byteSize + " B";
    }

    /// A time or a time difference with its spread, in the unit that fits the median.
    public static String time(Percentiles micros) {
        return Math.abs(micros.median()) < 1000
                ? format(micros, 1, " µs")
                : format(micros, 1000, " ms");
    }

    public static String ratio(Percentiles ratio) {
        return format(ratio, 1, "");
    }

    private static String format(Percentiles values, double divisor, String unit) {
        return "%s%s [%s..%s]"
                .formatted(
                        digits(values.median() / divisor),
                        unit,
                        digits(values.p10() / divisor),
                        digits(values.p90() / divisor));
    }

    private static String digits(double value) {
        double size = Math.abs(value);
        int decimals = size < 10 ? 2 : size < 100 ? 1 : 0;
        return String.format(Locale.ROOT, "%." + decimals + "f", value);
    }
}
