package org.horovod4j.benchmarks.runtime;

import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// One row of the table: what a step does, where its tensors lie, and what differs from the defaults.
/// As text `async-native` or `async-native+timeline`.
///
/// @param before whether this is not that setting, but the plain job that ran just before it, for it to
///     be measured by: `async-native+before-unlocked`. This machine may be another one a minute later.
record Variant(Way way, Placement placement, Setting setting, boolean before) {
    private static final String BEFORE = "before-";

    private static final Pattern TEXT =
            Pattern.compile(
                    "(?<way>[a-z]+)-(?<placement>[a-z]+)(\\+(?<before>before-)?(?<setting>[a-z]+))?");

    Variant {
        if (before && setting.takesTurns()) {
            throw new IllegalArgumentException(
                    "'%s' needs no job before it: it takes turns in one".formatted(lower(setting)));
        }
    }

    static Variant parse(String text) {
        Matcher matcher = TEXT.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "this is no variant 'way-placement' or 'way-placement+setting': '%s'"
                            .formatted(text));
        }
        String setting = matcher.group("setting");
        return new Variant(
                find(Way.values(), matcher.group("way")),
                find(Placement.values(), matcher.group("placement")),
                setting == null ? Setting.NONE : find(Setting.values(), setting),
                matcher.group("before") != null);
    }

    private static <E extends Enum<E>> E find(E[] values, String text) {
        return Arrays.stream(values)
                .filter(value -> value.name().equalsIgnoreCase(text))
                .findFirst()
                .orElseThrow(
                        () ->
                                new IllegalArgumentException(
                                        "there is no '%s': choose one of %s"
                                                .formatted(
                                                        text,
                                                        Arrays.toString(values)
                                                                .toLowerCase(Locale.ROOT))));
    }

    boolean isPlain() {
        return before || setting == Setting.NONE;
    }

    /// The same with the runtime's defaults, against which a setting's cost is counted.
    Variant plain() {
        return setting.takesTurns()
                ? new Variant(way, placement, Setting.NONE, false)
                : new Variant(way, placement, setting, true);
    }

    /// The raw collective in the same memory, against which the runtime's cost is counted.
    Variant flat() {
        return new Variant(Way.FLAT, placement.flat(), Setting.NONE, false);
    }

    Variant with(Way another) {
        return new Variant(another, placement, setting, before);
    }

    @Override
    public String toString() {
        String text = lower(way) + "-" + lower(placement);
        return setting == Setting.NONE
                ? text
                : text + "+" + (before ? BEFORE : "") + lower(setting);
    }

    private static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
