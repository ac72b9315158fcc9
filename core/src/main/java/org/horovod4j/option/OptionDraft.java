package org.horovod4j.option;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/// An option that is being declared; [#help] completes it. See [Option] for an example.
public final class OptionDraft<T extends Comparable<T>> {
    final Kind<T> kind;
    final SequencedMap<String, Kind<T>> valueFlags = new LinkedHashMap<>();
    final SequencedMap<String, T> switchFlags = new LinkedHashMap<>();
    final List<String> aliases = new ArrayList<>();
    String variable = "";
    @Nullable T byDefault;
    String whenUnset = "none";
    @Nullable T least;
    @Nullable T most;
    @Nullable T beyond;
    boolean isSecret;
    boolean isLenient;
    OptionGroup group = OptionGroup.WORLD;

    OptionDraft(Kind<T> kind) {
        this.kind = kind;
    }

    /// A flag that is followed by a value.
    OptionDraft<T> flag(String name) {
        return flagIn(kind, name);
    }

    /// A flag that is followed by a value, which is written in another way than that of the
    /// variable.
    OptionDraft<T> flagIn(Kind<T> unit, String name) {
        valueFlags.put(name, unit);
        return this;
    }

    /// A flag that stands alone and means this value.
    OptionDraft<T> flagFor(T value, String name) {
        switchFlags.put(name, value);
        return this;
    }

    /// Names the environment variable.
    ///
    /// @param aliases variables that are read when the first is not set
    public OptionDraft<T> environment(String variable, String... aliases) {
        this.variable = variable;
        this.aliases.addAll(List.of(aliases));
        return this;
    }

    public OptionDraft<T> byDefault(T value) {
        this.byDefault = value;
        return this;
    }

    /// Says what happens when there is neither a value nor a default.
    public OptionDraft<T> whenUnset(String what) {
        this.whenUnset = what;
        return this;
    }

    public OptionDraft<T> atLeast(T value) {
        this.least = value;
        return this;
    }

    public OptionDraft<T> atMost(T value) {
        this.most = value;
        return this;
    }

    /// Allows one value that the bounds do not, such as a 0 that stands for no limit.
    public OptionDraft<T> or(T value) {
        this.beyond = value;
        return this;
    }

    /// Keeps its value out of logs and errors.
    public OptionDraft<T> secret() {
        this.isSecret = true;
        return this;
    }

    /// Takes a variable that cannot be read for the default, with a warning rather than an error.
    public OptionDraft<T> lenient() {
        this.isLenient = true;
        return this;
    }

    public OptionDraft<T> in(OptionGroup chapter) {
        this.group = chapter;
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
