package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// The environment variables that flags and files set. Options that are not given are not set, so
/// that the environment of the launcher and autotune still apply.
final class JobOptions {
    private JobOptions() {}

    static Map<String, String> of(ParsedArguments given, ConfigFile config, Optional<JobFile> job) {
        Map<String, String> variables =
                new LinkedHashMap<>(job.map(JobFile::environment).orElse(Map.of()));
        variables.putAll(config.variables());
        for (Option<?> option : Options.all()) {
            put(option, given, variables);
        }
        interfaces(given)
                .ifPresent(names -> variables.put(Options.NETWORK_INTERFACES.variable(), names));
        return variables;
    }

    /// Sets the variable of a flag. A value that the processes would reject is rejected here.
    private static void put(
            Option<?> option, ParsedArguments given, Map<String, String> variables) {
        List<OptionFlag> found =
                OptionFlag.of(option).stream()
                        .filter(flag -> given.hasFlag(flag.longName()))
                        .toList();
        if (found.size() > 1) {
            throw new ConfigurationException(
                    "%s and %s set the same option: give only one of them."
                            .formatted(found.get(0).longName(), found.get(1).longName()));
        }
        found.forEach(flag -> variables.put(option.variable(), flag.value(given.value(flag))));
    }

    private static Optional<String> interfaces(ParsedArguments given) {
        List<String> names =
                given.values(LauncherFlag.NETWORK_INTERFACES).stream()
                        .flatMap(text -> List.of(text.split(",", -1)).stream())
                        .map(String::strip)
                        .distinct()
                        .toList();
        if (names.contains("")) {
            throw new ConfigurationException(
                    "%s: a name is empty. Give names such as eth0,ib0."
                            .formatted(LauncherFlag.NETWORK_INTERFACES));
        }
        return names.isEmpty() ? Optional.empty() : Optional.of(String.join(",", names));
    }
}
