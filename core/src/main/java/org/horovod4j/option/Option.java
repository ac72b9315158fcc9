package org.horovod4j.option;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/// The declaration of an option: all that is known of it but its value.
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
/// An option made without a flag is not for people: the launcher sets its variable.
public final class Option<T extends Comparable<T>> {
    private final Kind<T> kind;
    private final @Nullable String flag;
    private final String variable;
    private final List<String> aliases;
    private final @Nullable T byDefault;
    private final String defaultText;
    private final @Nullable T least;
    private final @Nullable T most;
    private final boolean isSecret;
    private final OptionGroup group;
    private final String help;

    Option(OptionDraft<T> draft, String help) {
        this.kind = draft.kind;
        this.flag = draft.flag;
        this.variable = draft.variable;
        this.aliases = List.copyOf(draft.aliases);
        this.byDefault = draft.byDefault;
        this.defaultText = byDefault == null ? draft.whenUnset : kind.format().apply(byDefault);
        this.least = draft.least;
        this.most = draft.most;
        this.isSecret = draft.isSecret;
        this.group = draft.group;
        this.help = help;
    }

    public static OptionDraft<String> text() {
        return new OptionDraft<>(Kind.TEXT, null);
    }

    public static OptionDraft<String> text(String flag) {
        return new OptionDraft<>(Kind.TEXT, flag);
    }

    public static OptionDraft<Integer> integer() {
        return new OptionDraft<>(Kind.INTEGER, null);
    }

    public static OptionDraft<Integer> integer(String flag) {
        return new OptionDraft<>(Kind.INTEGER, flag);
    }

    /// True, yes, on, 1, false, no, off or 0, in any case.
    public static OptionDraft<Boolean> bool(String flag) {
        return new OptionDraft<>(Kind.BOOL, flag);
    }

    /// A duration that is written in seconds.
    public static OptionDraft<Duration> seconds(String flag) {
        return new OptionDraft<>(Kind.SECONDS, flag);
    }

    /// A duration that is written in milliseconds.
    public static OptionDraft<Duration> millis(String flag) {
        return new OptionDraft<>(Kind.MILLIS, flag);
    }

    /// A number of bytes that may be written in units of 1024, as in 64M.
    public static OptionDraft<Long> bytes(String flag) {
        return new OptionDraft<>(Kind.BYTES, flag);
    }

    /// One of the constants, written in lower case and with dashes.
    public static <E extends Enum<E>> OptionDraft<E> choice(Class<E> constants) {
        return new OptionDraft<>(Kind.choice(constants), null);
    }

    /// One of the constants, written in lower case and with dashes.
    public static <E extends Enum<E>> OptionDraft<E> choice(String flag, Class<E> constants) {
        return new OptionDraft<>(Kind.choice(constants), flag);
    }

    /// What the launcher calls it, without dashes in front.
    public Optional<String> flag() {
        return Optional.ofNullable(flag);
    }

    /// The environment variable.
    public String variable() {
        return variable;
    }

    /// Other environment variables that are read when the first is not set, in this order.
    public List<String> aliases() {
        return aliases;
    }

    /// The variable and its aliases.
    public Stream<String> names() {
        return Stream.concat(Stream.of(variable), aliases.stream());
    }

    public Optional<T> byDefault() {
        return Optional.ofNullable(byDefault);
    }

    /// The default as one would write it, or what happens without one.
    public String defaultText() {
        return defaultText;
    }

    /// What a value may be, as in "a whole number from 0 to 16".
    public String allowed() {
        if (least != null && most != null) {
            return "%s from %s to %s".formatted(kind.noun(), format(least), format(most));
        }
        if (least != null) {
            return "%s, at least %s".formatted(kind.noun(), format(least));
        }
        return most == null ? kind.noun() : "%s, at most %s".formatted(kind.noun(), format(most));
    }

    /// Whether its value must not appear in logs and errors.
    public boolean isSecret() {
        return isSecret;
    }

    public OptionGroup group() {
        return group;
    }

    public String help() {
        return help;
    }

    /// Writes a value as [#parse] reads it.
    public String format(T value) {
        return kind.format().apply(value);
    }

    /// Reads a value.
    ///
    /// @param origin where the text is from, for errors: a variable or a flag
    /// @throws ConfigurationException when it is none, or out of bounds
    public T parse(String origin, String text) {
        T value;
        try {
            value = kind.parse().apply(text.strip());
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw refused(origin, text, e);
        }
        if ((least != null && value.compareTo(least) < 0)
                || (most != null && value.compareTo(most) > 0)) {
            throw refused(origin, text, null);
        }
        return value;
    }

    private ConfigurationException refused(
            String origin, String text, @Nullable RuntimeException cause) {
        return new ConfigurationException(
                """
                %s is %s, which is not allowed
                  allowed: %s
                  default: %s
                  meaning: %s
                Correct it, or leave it out."""
                        .formatted(
                                origin,
                                isSecret ? "set to something" : "'" + text + "'",
                                allowed(),
                                defaultText,
                                help),
                isSecret ? null : cause); // whose message would quote the secret
    }

    @Override
    public String toString() {
        return variable;
    }
}
