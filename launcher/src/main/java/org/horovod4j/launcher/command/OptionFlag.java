package org.horovod4j.launcher.command;

import org.horovod4j.option.Flag;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;

import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/// A flag that sets the environment variable of an option.
record OptionFlag(Option<?> option, Flag flag) {
    /// The launcher handles these itself, because they may be given several times.
    private static final List<String> REPEATABLE = List.of("network-interfaces");

    /// The flags of an option, including those that set a fixed value.
    static List<OptionFlag> of(Option<?> option) {
        return option.flags().stream()
                .filter(flag -> !REPEATABLE.contains(flag.name()))
                .map(flag -> new OptionFlag(option, flag))
                .toList();
    }

    static Stream<OptionFlag> all() {
        return Options.all().stream().flatMap(option -> of(option).stream());
    }

    /// @param name the name without leading dashes
    static Optional<OptionFlag> named(String name) {
        return all().filter(each -> each.flag.name().equals(name)).findFirst();
    }

    /// The name with leading dashes.
    String longName() {
        return "--" + flag.name();
    }

    /// The value of the variable.
    ///
    /// @param text the value of the flag; ignored for a flag without a value
    /// @throws org.horovod4j.ConfigurationException if it is invalid
    String value(String text) {
        return switch (flag) {
            case Flag.Switch(String _, String value) -> value;
            case Flag.Valued(String _, UnaryOperator<String> toVariable) -> toVariable.apply(text);
        };
    }
}
