package org.horovod4j.benchmarks.runtime;

import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// One row of the table: what a step does, where its tensors lie, and which setting of the runtime
/// differs from the defaults (empty for none). As text `async-native` or `async-native+timeline`.
///
/// The setting is a label here: `runtime.sh` sets the `HOROVOD_*` variables that it stands for.
record Variant(Way way, Placement placement, String setting) {
    private static final Pattern TEXT =
            Pattern.compile("(?<way>[a-z]+)-(?<placement>[a-z]+)(\\+(?<setting>[a-z]+))?");

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
                setting == null ? "" : setting);
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
        return setting.isEmpty();
    }

    /// The same with the runtime's defaults, against which a setting's cost is counted.
    Variant plain() {
        return new Variant(way, placement, "");
    }

    /// The raw collective in the same memory, against which the runtime's cost is counted.
    Variant flat() {
        return new Variant(Way.FLAT, placement.flat(), "");
    }

    Variant with(Way another) {
        return new Variant(another, placement, setting);
    }

    @Override
    public String toString() {
        String text = (way + "-" + placement).toLowerCase(Locale.ROOT);
        return isPlain() ? text : text + "+" + setting;
    }
}
