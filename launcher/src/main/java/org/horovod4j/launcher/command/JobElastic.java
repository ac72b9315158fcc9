package org.horovod4j.launcher.command;

import org.horovod4j.launcher.yaml.YamlNode;
import org.horovod4j.option.ElasticOptions;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// The key `elastic` of a job file: each key below it stands for a flag.
///
/// @param flags what it says in place of the launcher's own
/// @param variables what it sets
record JobElastic(Map<LauncherFlag, List<String>> flags, Map<String, String> variables) {
    private static final String TIMEOUT = "timeout";
    private static final String DISCOVERY = "discovery";
    private static final String COOLDOWN = "cooldown";
    private static final List<String> KEYS =
            List.of("min", "max", DISCOVERY, "slots_per_host", TIMEOUT, "reset_limit", COOLDOWN);

    JobElastic {
        flags = Map.copyOf(flags);
        variables = Map.copyOf(variables);
    }

    static JobElastic of(YamlNode.Section root) {
        Map<LauncherFlag, List<String>> flags = new EnumMap<>(LauncherFlag.class);
        Map<String, String> variables = new LinkedHashMap<>();
        Optional<YamlNode> node = root.find("elastic");
        if (node.isPresent()) {
            YamlNode.Section section = node.get().asSection();
            section.allow(KEYS);
            count(section, "min", 1, LauncherFlag.LEAST_PROCESSES, flags);
            count(section, "max", 1, LauncherFlag.MOST_PROCESSES, flags);
            count(section, "slots_per_host", 1, LauncherFlag.SLOTS_PER_HOST, flags);
            count(section, "reset_limit", 0, LauncherFlag.RESET_LIMIT, flags);
            section.find(DISCOVERY)
                    .ifPresent(
                            it -> flags.put(LauncherFlag.DISCOVERY_SCRIPT, List.of(it.asText())));
            section.find(COOLDOWN)
                    .ifPresent(it -> flags.put(LauncherFlag.COOLDOWN_RANGE, range(it)));
            section.find(TIMEOUT)
                    .ifPresent(
                            it ->
                                    variables.put(
                                            ElasticOptions.TIMEOUT.variable(),
                                            Integer.toString(it.asCount(1))));
            if (!flags.containsKey(LauncherFlag.LEAST_PROCESSES)
                    && !flags.containsKey(LauncherFlag.DISCOVERY_SCRIPT)) {
                throw node.get()
                        .where()
                        .error("needs min, discovery or both. Write, for example, min: 2.");
            }
        }
        return new JobElastic(flags, variables);
    }

    private static void count(
            YamlNode.Section section,
            String key,
            int least,
            LauncherFlag flag,
            Map<LauncherFlag, List<String>> flags) {
        section.find(key)
                .ifPresent(it -> flags.put(flag, List.of(Integer.toString(it.asCount(least)))));
    }

    private static List<String> range(YamlNode node) {
        if (node instanceof YamlNode.Items items && items.items().size() == 2) {
            return items.items().stream().map(it -> Integer.toString(it.asCount(1))).toList();
        }
        throw node.where().error("needs two numbers of seconds, as in [10, 300].");
    }
}
