package org.horovod4j.option;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/// An option that is being declared; [#help] completes it. See [Option] for an example.
public final class OptionDraft<T extends Comparable<T>> {
    final Kind<T> kind;
    final @Nullable String flag;
    final List<String> aliases = new ArrayList<>();
    String variable = "";
    @Nullable T byDefault;
    String whenUnset = "none";
    @Nullable T least;
    @Nullable T most;
    boolean isSecret;
    OptionGroup group = OptionGroup.WORLD;

    OptionDraft(Kind<T> kind, @Nullable String flag) {
        this.kind = kind;
        this.flag = flag;
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

    /// Keeps its value out of logs and errors.
    public OptionDraft<T> secret() {
        this.isSecret = true;
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
