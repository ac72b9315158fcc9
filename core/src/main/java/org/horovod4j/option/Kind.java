package org.horovod4j.option;

import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/// How values of one type are written as text.
///
/// @param noun what a value is, as errors and the reference page say it
/// @param parse throws [IllegalArgumentException] or [ArithmeticException] for any other text
/// @param format what a variable is set to: plain numbers, which Horovod and shell scripts read too
/// @param show what people are shown, which parses to the same value
record Kind<T>(
        String noun,
        Function<String, T> parse,
        Function<T, String> format,
        Function<T, String> show) {
    static final Kind<String> TEXT = new Kind<>("any text", text -> text, text -> text);

    static final Kind<Integer> INTEGER =
            new Kind<>("a whole number", Integer::valueOf, Object::toString);

    static final Kind<Boolean> BOOL =
            new Kind<>(
                    "`true`, `yes`, `on` or `1`; `false`, `no`, `off` or `0`",
                    Kind::parseBool,
                    value -> value ? "1" : "0",
                    Object::toString);

    static final Kind<Double> NUMBER =
            new Kind<>("a number", text -> new BigDecimal(text).doubleValue(), Kind::formatNumber);

    static final Kind<Path> PATH = new Kind<>("a path", Path::of, Path::toString);

    static final Kind<Duration> SECONDS = duration("seconds", 9);

    static final Kind<Duration> MILLIS = duration("milliseconds", 6);

    static final Kind<Long> BYTES =
            new Kind<>(
                    "bytes (4096, 64K, 64M, 1G)",
                    Kind::parseBytes,
                    Object::toString,
                    Kind::showBytes);

    /// Bytes in units of 1024 * 1024, of which there may be a fraction.
    static final Kind<Long> MEBIBYTES =
            new Kind<>("mebibytes", Kind::parseMebibytes, Kind::formatMebibytes);

    private static final String BYTE_UNITS = "KMGT";

    /// The constants that parsing needs, made for the first value that is set: a process that is
    /// given none does without [BigDecimal], which alone takes 20 ms to load.
    private static final class Parsing {
        private static final Pattern BYTE_SIZE = Pattern.compile("(\\d+) ?(?:([KMGT])(?:I?B)?|B)?");
        private static final BigDecimal MEBIBYTE = BigDecimal.valueOf(1L << 20);
    }

    private Kind(String noun, Function<String, T> parse, Function<T, String> format) {
        this(noun, parse, format, format);
    }

    /// The constants of an enum, in lower case and with dashes.
    static <E extends Enum<E>> Kind<E> choice(Class<E> type) {
        List<E> constants = Arrays.asList(type.getEnumConstants());
        String noun =
                constants.stream()
                        .map(constant -> "`" + formatChoice(constant) + "`")
                        .collect(Collectors.joining(", "));
        return new Kind<>(noun, text -> parseChoice(constants, text), Kind::formatChoice);
    }

    private static <E extends Enum<E>> E parseChoice(List<E> constants, String text) {
        return constants.stream()
                .filter(constant -> formatChoice(constant).equalsIgnoreCase(text))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(text));
    }

    private static String formatChoice(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /// Horovod reads these as integers, where "true" means false.
    private static boolean parseBool(String text) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "true", "yes", "on", "1" -> true;
            case "false", "no", "off", "0" -> false;
            default -> throw new IllegalArgumentException(text);
        };
    }

    /// Durations in a unit of 10^`nanoDigits` nanoseconds, of which there may be a fraction.
    private static Kind<Duration> duration(String unit, int nanoDigits) {
        return new Kind<>(
                unit,
                text ->
                        Duration.ofNanos(
                                new BigDecimal(text)
                                        .scaleByPowerOfTen(nanoDigits)
                                        .longValueExact()),
                value -> plain(BigDecimal.valueOf(value.toNanos(), nanoDigits)));
    }

    private static long parseBytes(String text) {
        Matcher size = Parsing.BYTE_SIZE.matcher(text.toUpperCase(Locale.ROOT));
        if (!size.matches()) {
            throw new IllegalArgumentException(text);
        }
        String unit = size.group(2);
        int shift = unit == null ? 0 : 10 * (BYTE_UNITS.indexOf(unit) + 1);
        return Math.multiplyExact(Long.parseLong(size.group(1)), 1L << shift);
    }

    /// In the largest unit that leaves no fraction.
    private static String showBytes(long bytes) {
        int shift = bytes == 0 ? 0 : Math.min(40, Long.numberOfTrailingZeros(bytes) / 10 * 10);
        String unit = shift == 0 ? "" : BYTE_UNITS.substring(shift / 10 - 1, shift / 10);
        return (bytes >> shift) + unit;
    }

    private static long parseMebibytes(String text) {
        return new BigDecimal(text).multiply(Parsing.MEBIBYTE).longValueExact();
    }

    private static String formatMebibytes(long bytes) {
        return plain(BigDecimal.valueOf(bytes).divide(Parsing.MEBIBYTE));
    }

    private static String formatNumber(double value) {
        return plain(BigDecimal.valueOf(value));
    }

    private static String plain(BigDecimal number) {
        return number.stripTrailingZeros().toPlainString();
    }
}
