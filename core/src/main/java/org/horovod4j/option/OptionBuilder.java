package org.horovod4j.option;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/// A declaration in progress. [#help] completes it. See [Option] for an example.
public final class OptionBuilder<T extends Comparable<T>> {
    final OptionType<T> optionType;
    final SequencedMap<String, OptionType<T>> valueFlags = new LinkedHashMap<>();
    final SequencedMap<String, T> switchFlags = new LinkedHashMap<>();
    final List<String> aliases = new ArrayList<>();
    String variable = "";
    @Nullable T byDefault;
    String whenUnset = "none";
    @Nullable T min;
    @Nullable T max;
    @Nullable T outOfRangeValue;
    boolean isSecret;
    boolean isLenient;
    OptionGroup group = OptionGroup.WORLD;

    OptionBuilder(OptionType<T> optionType) {
        this.optionType = optionType;
    }

    /// Adds a flag with a value.
    OptionBuilder<T> flag(String name) {
        return flagIn(optionType, name);
    }

    /// Adds a flag with a value in another unit than that of the variable.
    OptionBuilder<T> flagIn(OptionType<T> unit, String name) {
        valueFlags.put(name, unit);
        return this;
    }

    /// Adds a flag without a value that means `value`.
    OptionBuilder<T> flagFor(T value, String name) {
        switchFlags.put(name, value);
        return this;
    }

    /// Names the environment variable.
    ///
    /// @param aliases variables that are read when the first is not set
    public OptionBuilder<T> environment(String variable, String... aliases) {
        this.variable = variable;
        this.aliases.addAll(List.of(aliases));
        return this;
    }

    public OptionBuilder<T> byDefault(T value) {
        this.byDefault = value;
        return this;
    }

    /// Describes what happens when there is neither a value nor a default.
    public OptionBuilder<T> whenUnset(String what) {
        this.whenUnset = what;
        return this;
    }

    public OptionBuilder<T> atLeast(T value) {
        this.min = value;
        return this;
    }

    public OptionBuilder<T> atMost(T value) {
        this.max = value;
        return this;
    }

    /// Allows one value outside the bounds, such as a 0 that means no limit.
    public OptionBuilder<T> or(T value) {
        this.outOfRangeValue = value;
        return this;
    }

    /// Keeps its value out of logs and errors.
    public OptionBuilder<T> secret() {
        this.isSecret = true;
        return this;
    }

    /// A value that is not allowed causes a warning and the default, not an error.
    public OptionBuilder<T> lenient() {
        this.isLenient = true;
        return this;
    }

    public OptionBuilder<T> in(OptionGroup newGroup) {
        this.group = newGroup;
        return this;
    }

    /// Completes the declaration with the sentences that `--help` and the reference page show.
    public Option<T> help(String sentences) {
        if (variable.isEmpty()) {
            throw new IllegalStateException(
                    "an option needs its environment variable: " + sentences);
        }
        return new Option<>(this, sentences);
    }
}
