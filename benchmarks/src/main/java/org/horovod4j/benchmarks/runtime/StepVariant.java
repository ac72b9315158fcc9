package org.horovod4j.benchmarks.runtime;

import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// One row of the table: the mode of a step, the memory of its tensors, and the setting. The text
/// form is `async-native` or `async-native+timeline`.
///
/// @param baselineRun whether this is the job with default settings that ran just before or after the
///     job with the setting, as its baseline: `async-native+without-unlocked`. Another job would
///     not be comparable, because the speed of the machine changes.
record StepVariant(
        StepMode mode, GradientMemory memory, RuntimeSetting runtimeSetting, boolean baselineRun) {
    private static final String BASELINE_PREFIX = "without-";

    private static final Pattern TEXT =
            Pattern.compile(
                    "(?<mode>[a-z]+)-(?<placement>[a-z]+)(\\+(?<without>without-)?(?<setting>[a-z]+))?");

    StepVariant {
        if (baselineRun && runtimeSetting.isSwitchable()) {
            throw new IllegalArgumentException(
                    "'%s' needs no job without it: both take turns in one job"
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
                matcher.group("without") != null);
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

    /// The same variant with default settings: the baseline for the cost of the setting.
    StepVariant baseline() {
        return runtimeSetting.isSwitchable()
                ? new StepVariant(mode, memory, RuntimeSetting.NONE, false)
                : new StepVariant(mode, memory, runtimeSetting, true);
    }

    /// The raw collective in the same memory: the baseline for the cost of the runtime.
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
