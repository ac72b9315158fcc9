package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.yaml.YamlNode;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;

import java.util.LinkedHashMap;
import java.util.Map;

/// The key `environment` of a job file: variables for all processes.
final class JobFileEnvironment {
    private JobFileEnvironment() {}

    static Map<String, String> of(YamlNode node) {
        Map<String, String> variables = new LinkedHashMap<>();
        node.asMapping()
                .entries()
                .forEach(
                        (name, value) -> {
                            String text = value instanceof YamlNode.Empty ? "" : value.asText();
                            check(name, text, value);
                            variables.put(name, text);
                        });
        return variables;
    }

    /// Checks a variable. An invalid `HOROVOD_*` value is rejected here, with its line, instead of
    /// in the processes.
    private static void check(String name, String text, YamlNode value) {
        if (!name.matches("[A-Za-z_]\\w*")) {
            throw value.location().error("'%s' is not the name of a variable.".formatted(name));
        }
        for (Option<?> option : Options.all()) {
            if (option.names().contains(name) && !text.isBlank()) {
                if (option.flags().isEmpty()) {
                    throw value.location()
                            .error("horovodrun sets this one for each process. Leave it out.");
                }
                parse(option, text, value);
            }
        }
    }

    private static void parse(Option<?> option, String text, YamlNode value) {
        try {
            option.parse(option.variable(), text);
        } catch (ConfigurationException e) {
            throw new ConfigurationException(
                    "%s:%d: %s"
                            .formatted(
                                    value.location().file(),
                                    value.location().line(),
                                    e.getMessage()),
                    e);
        }
    }
}
