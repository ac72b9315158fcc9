package org.horovod4j.benchmarks.runtime;

import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// One row of the table: what a step does, where its tensors lie, and what differs from the defaults.
/// As text `async-native` or `async-native+timeline`.
///
/// @param baselineRun whether this is not that setting, but the plain job that ran just before it, for it to
///     be measured by: `async-native+before-unlocked`. This machine may be another one a minute later.
record StepVariant(
        StepMode mode, GradientMemory memory, RuntimeSetting runtimeSetting, boolean baselineRun) {
    private static final String BASELINE_PREFIX = "before-";

    private static final Pattern TEXT =
            Pattern.compile(
                    "(?<mode>[a-z]+)-(?<placement>[a-z]+)(\\+(?<before>before-)?(?<setting>[a-z]+))?");

    StepVariant {
        if (baselineRun && runtimeSetting.isSwitchable()) {
            throw new IllegalArgumentException(
                    "'%s' needs no job before it: it takes turns in one"
                            .formatted(lower(runtimeSetting)));
        }
    }

    static StepVariant parse(String text) {
        Matcher matcher = TEXT.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "not a variant 'mode-memory' or 'mode-memory+setting': '%s'".formatted(text));
        }
        String setting = matcher.group("setting");
        return new StepVariant(
                find(StepMode.values(), matcher.group("mode")),
                find(GradientMemory.values(), matcher.group("placement")),
                setting == null ? RuntimeSetting.NONE : find(RuntimeSetting.values(), setting),
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

    boolean isBaseline() {
        return baselineRun || runtimeSetting == RuntimeSetting.NONE;
    }

    /// The same with the runtime's defaults, against which a setting's cost is counted.
    StepVariant baseline() {
        return runtimeSetting.isSwitchable()
                ? new StepVariant(mode, memory, RuntimeSetting.NONE, false)
                : new StepVariant(mode, memory, runtimeSetting, true);
    }

    /// The raw collective in the same memory, against which the runtime's cost is counted.
    StepVariant flat() {
        return new StepVariant(StepMode.FLAT, memory.flat(), RuntimeSetting.NONE, false);
    }

    StepVariant with(StepMode another) {
        return new StepVariant(another, memory, runtimeSetting, baselineRun);
    }

    @Override
    public String toString() {
        String text = lower(mode) + "-" + lower(memory);
        return runtimeSetting == RuntimeSetting.NONE
                ? text
                : text + "+" + (baselineRun ? BASELINE_PREFIX : "") + lower(runtimeSetting);
    }

    private static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
