package org.horovod4j.option;

import java.math.BigDecimal;
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
/// @param format the shortest text that parses to the value
record Kind<T>(String noun, Function<String, T> parse, Function<T, String> format) {
    static final Kind<String> TEXT = new Kind<>("any text", text -> text, text -> text);

    static final Kind<Integer> INTEGER =
            new Kind<>("a whole number", Integer::valueOf, Object::toString);

    static final Kind<Boolean> BOOL =
            new Kind<>(
                    "`true`, `yes`, `on` or `1`; `false`, `no`, `off` or `0`",
                    Kind::parseBool,
                    Object::toString);

    static final Kind<Duration> SECONDS = duration("seconds", 9);

    static final Kind<Duration> MILLIS = duration("milliseconds", 6);

    static final Kind<Long> BYTES =
            new Kind<>("bytes, such as 4096, 64K, 64M or 1G", Kind::parseBytes, Kind::formatBytes);

    private static final Pattern BYTE_SIZE = Pattern.compile("(\\d+) ?(?:([KMGT])(?:I?B)?|B)?");
    private static final String BYTE_UNITS = "KMGT";

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
                value ->
                        BigDecimal.valueOf(value.toNanos(), nanoDigits)
                                .stripTrailingZeros()
                                .toPlainString());
    }

    private static long parseBytes(String text) {
        Matcher size = BYTE_SIZE.matcher(text.toUpperCase(Locale.ROOT));
        if (!size.matches()) {
            throw new IllegalArgumentException(text);
        }
        String unit = size.group(2);
        int shift = unit == null ? 0 : 10 * (BYTE_UNITS.indexOf(unit) + 1);
        return Math.multiplyExact(Long.parseLong(size.group(1)), 1L << shift);
    }

    /// In the largest unit that leaves no fraction.
    private static String formatBytes(long bytes) {
        int shift = bytes == 0 ? 0 : Math.min(40, Long.numberOfTrailingZeros(bytes) / 10 * 10);
        String unit = shift == 0 ? "" : BYTE_UNITS.substring(shift / 10 - 1, shift / 10);
        return (bytes >> shift) + unit;
    }
}
