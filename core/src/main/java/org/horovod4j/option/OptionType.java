package org.horovod4j.option;

import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Converts values of one type to text and back.
///
/// Uses classes and loops instead of lambdas and streams, as [Environment] does: every process
/// declares and reads all options when it starts, and each lambda would cost half a millisecond.
abstract class OptionType<T> {
    static final OptionType<String> TEXT =
            new OptionType<>("any text") {
                @Override
                String parse(String text) {
                    return text;
                }
            };

    static final OptionType<Integer> INTEGER =
            new OptionType<>("a whole number") {
                @Override
                Integer parse(String text) {
                    return Integer.valueOf(text);
                }
            };

    static final OptionType<Boolean> BOOL =
            new OptionType<>("`true`, `yes`, `on` or `1`; `false`, `no`, `off` or `0`") {
                // Horovod reads these as integers, where "true" means false.
                @Override
                Boolean parse(String text) {
                    return switch (text.toLowerCase(Locale.ROOT)) {
                        case "true", "yes", "on", "1" -> true;
                        case "false", "no", "off", "0" -> false;
                        default -> throw new IllegalArgumentException(text);
                    };
                }

                @Override
                String format(Boolean value) {
                    return value ? "1" : "0";
                }

                @Override
                String display(Boolean value) {
                    return value.toString();
                }
            };

    static final OptionType<Double> NUMBER =
            new OptionType<>("a number") {
                @Override
                Double parse(String text) {
                    return new BigDecimal(text).doubleValue();
                }

                @Override
                String format(Double value) {
                    return plain(BigDecimal.valueOf(value));
                }
            };

    static final OptionType<String> PROCESSORS =
            new OptionType<>("numbers of processors, separated by commas") {
                @Override
                String parse(String text) {
                    String numbers = text.replace(" ", "");
                    if (!numbers.matches("\\d{1,4}(,\\d{1,4})*")) {
                        throw new IllegalArgumentException(text);
                    }
                    return numbers;
                }
            };

    static final OptionType<Path> PATH =
            new OptionType<>("a path") {
                @Override
                Path parse(String text) {
                    return Path.of(text);
                }
            };

    static final OptionType<Duration> SECONDS = new DurationType("seconds", 9, 1_000_000_000);

    static final OptionType<Duration> MILLIS = new DurationType("milliseconds", 6, 1_000_000);

    static final OptionType<Long> BYTES = new ByteSizeType();

    /// Bytes in units of 1024 * 1024, with or without a fraction.
    static final OptionType<Long> MEBIBYTES =
            new OptionType<>("mebibytes") {
                @Override
                Long parse(String text) {
                    return new BigDecimal(text)
                            .multiply(ParsingConstants.MEBIBYTE)
                            .longValueExact();
                }

                @Override
                String format(Long bytes) {
                    return plain(BigDecimal.valueOf(bytes).divide(ParsingConstants.MEBIBYTE));
                }
            };

    /// The constants for parsing, created with the first value that is set: a process without such
    /// values need not load [BigDecimal], which takes 20 ms.
    private static final class ParsingConstants {
        private static final Pattern BYTE_SIZE = Pattern.compile("(\\d+) ?(?:([KMGT])(?:I?B)?|B)?");
        private static final BigDecimal MEBIBYTE = BigDecimal.valueOf(1L << 20);
    }

    private final String noun;

    /// @param noun describes a value, in errors and on the reference page
    private OptionType(String noun) {
        this.noun = noun;
    }

    final String noun() {
        return noun;
    }

    /// Throws [IllegalArgumentException] or [ArithmeticException] for any other text.
    abstract T parse(String text);

    /// The text for a variable: plain numbers, which Horovod and shell scripts read too.
    String format(T value) {
        return value.toString();
    }

    /// The text for people, which parses to the same value.
    String display(T value) {
        return format(value);
    }

    private static String plain(BigDecimal number) {
        return number.stripTrailingZeros().toPlainString();
    }

    /// Durations in a unit of 10^`nanoDigits` = `nanos` nanoseconds, with or without a fraction.
    /// Only a fraction needs [BigDecimal], which is slow to load.
    private static final class DurationType extends OptionType<Duration> {
        private final int nanoDigits;
        private final long nanos;

        DurationType(String unit, int nanoDigits, long nanos) {
            super(unit);
            this.nanoDigits = nanoDigits;
            this.nanos = nanos;
        }

        @Override
        Duration parse(String text) {
            return Duration.ofNanos(
                    isWhole(text)
                            ? Math.multiplyExact(Long.parseLong(text), nanos)
                            : new BigDecimal(text).scaleByPowerOfTen(nanoDigits).longValueExact());
        }

        private static boolean isWhole(String text) {
            for (int i = 0; i < text.length(); i++) {
                if (text.charAt(i) < '0' || text.charAt(i) > '9') {
                    return false;
                }
            }
            return !text.isEmpty();
        }

        @Override
        String format(Duration value) {
            return value.toNanos() % nanos == 0
                    ? Long.toString(value.toNanos() / nanos)
                    : plain(BigDecimal.valueOf(value.toNanos(), nanoDigits));
        }
    }

    private static final class ByteSizeType extends OptionType<Long> {
        private static final String UNITS = "KMGT";

        ByteSizeType() {
            super("bytes (4096, 64K, 64M, 1G)");
        }

        @Override
        Long parse(String text) {
            Matcher size = ParsingConstants.BYTE_SIZE.matcher(text.toUpperCase(Locale.ROOT));
            if (!size.matches()) {
                throw new IllegalArgumentException(text);
            }
            String unit = size.group(2);
            int shift = unit == null ? 0 : 10 * (UNITS.indexOf(unit) + 1);
            return Math.multiplyExact(Long.parseLong(size.group(1)), 1L << shift);
        }

        /// Uses the largest unit without a fraction.
        @Override
        String display(Long bytes) {
            int shift = bytes == 0 ? 0 : Math.min(40, Long.numberOfTrailingZeros(bytes) / 10 * 10);
            String unit = shift == 0 ? "" : UNITS.substring(shift / 10 - 1, shift / 10);
            return (bytes >> shift) + unit;
        }
    }

    /// The constants of an enum, in lower case and with dashes.
    static final class ChoiceType<E extends Enum<E>> extends OptionType<E> {
        private final E[] constants;

        ChoiceType(Class<E> type) {
            super(listConstants(type));
            this.constants = type.getEnumConstants();
        }

        private static String listConstants(Class<? extends Enum<?>> type) {
            StringJoiner noun = new StringJoiner(", ");
            for (Enum<?> constant : type.getEnumConstants()) {
                noun.add("`" + optionText(constant) + "`");
            }
            return noun.toString();
        }

        private static String optionText(Enum<?> constant) {
            return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
        }

        @Override
        E parse(String text) {
            for (E constant : constants) {
                if (optionText(constant).equalsIgnoreCase(text)) {
                    return constant;
                }
            }
            throw new IllegalArgumentException(text);
        }

        @Override
        String format(E value) {
            return optionText(value);
        }
    }
}
