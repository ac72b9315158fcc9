package org.horovod4j.option;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;

/// The declaration of an option.
///
/// ```java
/// static final Option<Duration> CYCLE_TIME =
///         Option.millis("cycle-time-ms")
///                 .environment("HOROVOD_CYCLE_TIME")
///                 .byDefault(Duration.ofMillis(1))
///                 .atLeast(Duration.ZERO)
///                 .help("Pause between two negotiation cycles; 0 negotiates at once.");
/// ```
///
/// An option without a flag is not for users: the launcher sets its variable.
public final class Option<T extends Comparable<T>> {
    private final OptionType<T> optionType;
    private final SequencedMap<String, OptionType<T>> valueFlags;
    private final SequencedMap<String, T> switchFlags;
    private final String variable;
    private final List<String> aliases;
    private final List<String> names;
    private final @Nullable T byDefault;
    private final String whenUnset;
    private final @Nullable T min;
    private final @Nullable T max;
    private final @Nullable T outOfRangeValue;
    private final boolean isSecret;
    private final boolean isLenient;
    private final OptionGroup group;
    private final String help;

    Option(OptionBuilder<T> builder, String help) {
        this.optionType = builder.optionType;
        this.valueFlags = new LinkedHashMap<>(builder.valueFlags);
        this.switchFlags = new LinkedHashMap<>(builder.switchFlags);
        this.variable = builder.variable;
        this.aliases = List.copyOf(builder.aliases);
        List<String> all = new ArrayList<>(aliases);
        all.addFirst(variable);
        this.names = List.copyOf(all);
        this.byDefault = builder.byDefault;
        this.whenUnset = builder.whenUnset;
        this.min = builder.min;
        this.max = builder.max;
        this.outOfRangeValue = builder.outOfRangeValue;
        this.isSecret = builder.isSecret;
        this.isLenient = builder.isLenient;
        this.group = builder.group;
        this.help = help;
    }

    public static OptionBuilder<String> text() {
        return new OptionBuilder<>(OptionType.TEXT);
    }

    public static OptionBuilder<String> text(String flag) {
        return text().flag(flag);
    }

    /// Numbers of processors, separated by commas.
    public static OptionBuilder<String> processors(String flag) {
        return new OptionBuilder<>(OptionType.PROCESSORS).flag(flag);
    }

    public static OptionBuilder<Path> path() {
        return new OptionBuilder<>(OptionType.PATH);
    }

    public static OptionBuilder<Path> path(String flag) {
        return path().flag(flag);
    }

    public static OptionBuilder<Integer> integer() {
        return new OptionBuilder<>(OptionType.INTEGER);
    }

    public static OptionBuilder<Integer> integer(String flag) {
        return integer().flag(flag);
    }

    /// A number with or without a fraction.
    public static OptionBuilder<Double> number(String flag) {
        return new OptionBuilder<>(OptionType.NUMBER).flag(flag);
    }

    /// True, yes, on, 1, false, no, off or 0, in any case.
    public static OptionBuilder<Boolean> bool() {
        return new OptionBuilder<>(OptionType.BOOL);
    }

    /// True or false, as above. The launcher gets a flag for true, and one with `no-` in front for
    /// false.
    public static OptionBuilder<Boolean> bool(String flag) {
        return bool(flag, "no-" + flag);
    }

    /// The same with two unrelated flags.
    public static OptionBuilder<Boolean> bool(String flagForTrue, String flagForFalse) {
        return bool().flagFor(true, flagForTrue).flagFor(false, flagForFalse);
    }

    /// A duration in seconds.
    public static OptionBuilder<Duration> seconds(String flag) {
        return new OptionBuilder<>(OptionType.SECONDS).flag(flag);
    }

    /// A duration in milliseconds.
    public static OptionBuilder<Duration> millis(String flag) {
        return new OptionBuilder<>(OptionType.MILLIS).flag(flag);
    }

    /// A number of bytes, with or without a unit, as in 64M.
    public static OptionBuilder<Long> bytes(String flag) {
        return new OptionBuilder<>(OptionType.BYTES).flag(flag);
    }

    /// A number of bytes, as above, whose flag takes mebibytes.
    public static OptionBuilder<Long> bytesByMebibyteFlag(String flag) {
        return new OptionBuilder<>(OptionType.BYTES).flagIn(OptionType.MEBIBYTES, flag);
    }

    /// One of the constants, written in lower case and with dashes.
    public static <E extends Enum<E>> OptionBuilder<E> choice(Class<E> constants) {
        return new OptionBuilder<>(new OptionType.ChoiceType<>(constants));
    }

    /// One of the constants, written in lower case and with dashes.
    public static <E extends Enum<E>> OptionBuilder<E> choice(String flag, Class<E> constants) {
        return choice(constants).flag(flag);
    }

    /// The flags of the launcher: several if each stands for a value.
    public List<Flag> flags() {
        List<Flag> flags = new ArrayList<>();
        valueFlags.forEach(
                (name, unit) ->
                        flags.add(
                                new Flag.Valued(
                                        name, text -> format(parse("--" + name, text, unit)))));
        switchFlags.forEach((name, value) -> flags.add(new Flag.Switch(name, format(value))));
        return flags;
    }

    /// The allowed values and the default of a flag, as in "seconds, at least 0.1; default 30".
    /// Empty for a flag without a value.
    public String valuesOf(String flag) {
        OptionType<T> unit = valueFlags.get(flag);
        return unit == null
                ? ""
                : "%s; default %s".formatted(allowed(unit), defaultText(unit)).replace("`", "");
    }

    /// The environment variable.
    public String variable() {
        return variable;
    }

    /// Other variables, read in this order when the first is not set.
    public List<String> aliases() {
        return aliases;
    }

    /// The variable and its aliases.
    public List<String> names() {
        return names;
    }

    public Optional<T> byDefault() {
        return Optional.ofNullable(byDefault);
    }

    /// The default as text, or what happens without one.
    public String defaultText() {
        return defaultText(optionType);
    }

    private String defaultText(OptionType<T> unit) {
        return byDefault == null ? whenUnset : unit.display(byDefault);
    }

    /// The allowed values, as in "a whole number from 0 to 16".
    public String allowed() {
        return allowed(optionType);
    }

    private String allowed(OptionType<T> unit) {
        String bounded = bounded(unit);
        return outOfRangeValue == null
                ? bounded
                : "%s, or %s".formatted(bounded, unit.display(outOfRangeValue));
    }

    private String bounded(OptionType<T> unit) {
        if (min != null && max != null) {
            return "%s from %s to %s".formatted(unit.noun(), unit.display(min), unit.display(max));
        }
        if (min != null) {
            return "%s, at least %s".formatted(unit.noun(), unit.display(min));
        }
        return max == null
                ? unit.noun()
                : "%s, at most %s".formatted(unit.noun(), unit.display(max));
    }

    /// Whether its value must not appear in logs and errors.
    public boolean isSecret() {
        return isSecret;
    }

    /// Whether a value that is not allowed counts as not set.
    public boolean isLenient() {
        return isLenient;
    }

    public OptionGroup group() {
        return group;
    }

    public String help() {
        return help;
    }

    /// The text for the variable.
    public String format(T value) {
        return optionType.format(value);
    }

    /// Reads a value.
    ///
    /// @param origin the variable or flag, for errors
    /// @throws ConfigurationException when the value is malformed or out of bounds
    public T parse(String origin, String text) {
        return parse(origin, text, optionType);
    }

    private T parse(String origin, String text, OptionType<T> unit) {
        T value;
        try {
            value = unit.parse(text.strip());
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw notAllowed(origin, text, unit, e);
        }
        if (!isAllowed(value)) {
            throw notAllowed(origin, text, unit, null);
        }
        return value;
    }

    private boolean isAllowed(T value) {
        if (outOfRangeValue != null && value.compareTo(outOfRangeValue) == 0) {
            return true;
        }
        return (min == null || value.compareTo(min) >= 0)
                && (max == null || value.compareTo(max) <= 0);
    }

    private ConfigurationException notAllowed(
            String origin, String text, OptionType<T> unit, @Nullable RuntimeException cause) {
        return new ConfigurationException(
                """
                %s is %s, which is not allowed
                  allowed: %s
                  default: %s
                  meaning: %s
                Correct or remove it."""
                        .formatted(
                                origin,
                                isSecret ? "'(hidden)'" : "'" + text + "'",
                                allowed(unit),
                                defaultText(unit),
                                help),
                isSecret ? null : cause); // its message would contain the secret
    }

    @Override
    public String toString() {
        return variable;
    }
}
