package org.horovod4j.launcher.command;

import org.horovod4j.option.Flag;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;

import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/// A flag that sets the variable of an option of the processes.
record OptionFlag(Option<?> option, Flag flag) {
    /// These the launcher reads itself, because they may be given several times.
    private static final List<String> REPEATABLE = List.of("network-interfaces");

    /// The flags for an option; those that mean different values of it included.
    static List<OptionFlag> of(Option<?> option) {
        return option.flags().stream()
                .filter(flag -> !REPEATABLE.contains(flag.name()))
                .map(flag -> new OptionFlag(option, flag))
                .toList();
    }

    static Stream<OptionFlag> all() {
        return Options.all().stream().flatMap(option -> of(option).stream());
    }

    /// @param name without dashes in front
    static Optional<OptionFlag> named(String name) {
        return all().filter(each -> each.flag.name().equals(name)).findFirst();
    }

    /// As it is typed.
    String longName() {
        return "--" + flag.name();
    }

    /// What the variable is set to.
    ///
    /// @param text the value given; without meaning for a flag that stands alone
    /// @throws org.horovod4j.ConfigurationException when it is not allowed
    String value(String text) {
        return switch (flag) {
            case Flag.Switch(String _, String value) -> value;
            case Flag.Valued(String _, UnaryOperator<String> toVariable) -> toVariable.apply(text);
        };
    }
}
