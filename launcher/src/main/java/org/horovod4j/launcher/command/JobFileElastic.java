package org.horovod4j.launcher.command;

import org.horovod4j.launcher.yaml.YamlNode;
import org.horovod4j.option.ElasticOptions;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// The key `elastic` of a job file. Each key under it corresponds to a flag.
///
/// @param flags the corresponding flags with their values
/// @param variables the environment variables it sets
record JobFileElastic(Map<LauncherFlag, List<String>> flags, Map<String, String> variables) {
    private static final String TIMEOUT = "timeout";
    private static final String DISCOVERY = "discovery";
    private static final String COOLDOWN = "cooldown";
    private static final List<String> KEYS =
            List.of("min", "max", DISCOVERY, "slots_per_host", TIMEOUT, "reset_limit", COOLDOWN);

    JobFileElastic {
        flags = Map.copyOf(flags);
        variables = Map.copyOf(variables);
    }

    static JobFileElastic of(YamlNode.Mapping root) {
        Map<LauncherFlag, List<String>> flags = new EnumMap<>(LauncherFlag.class);
        Map<String, String> variables = new LinkedHashMap<>();
        Optional<YamlNode> node = root.find("elastic");
        if (node.isPresent()) {
            YamlNode.Mapping mapping = node.get().asMapping();
            mapping.requireKnownKeys(KEYS);
            count(mapping, "min", 1, LauncherFlag.MIN_PROCESSES, flags);
            count(mapping, "max", 1, LauncherFlag.MAX_PROCESSES, flags);
            count(mapping, "slots_per_host", 1, LauncherFlag.SLOTS_PER_HOST, flags);
            count(mapping, "reset_limit", 0, LauncherFlag.RESET_LIMIT, flags);
            mapping.find(DISCOVERY)
                    .ifPresent(
                            it -> flags.put(LauncherFlag.DISCOVERY_SCRIPT, List.of(it.asText())));
            mapping.find(COOLDOWN)
                    .ifPresent(it -> flags.put(LauncherFlag.COOLDOWN_RANGE, range(it)));
            mapping.find(TIMEOUT)
                    .ifPresent(
                            it ->
                                    variables.put(
                                            ElasticOptions.TIMEOUT.variable(),
                                            Integer.toString(it.asCount(1))));
            if (!flags.containsKey(LauncherFlag.MIN_PROCESSES)
                    && !flags.containsKey(LauncherFlag.DISCOVERY_SCRIPT)) {
                throw node.get()
                        .location()
                        .error("needs min, discovery or both. Write, for example, min: 2.");
            }
        }
        return new JobFileElastic(flags, variables);
    }

    private static void count(
            YamlNode.Mapping mapping,
            String key,
            int min,
            LauncherFlag flag,
            Map<LauncherFlag, List<String>> flags) {
        mapping.find(key)
                .ifPresent(it -> flags.put(flag, List.of(Integer.toString(it.asCount(min)))));
    }

    private static List<String> range(YamlNode node) {
        if (node instanceof YamlNode.Sequence sequence && sequence.items().size() == 2) {
            return sequence.items().stream().map(it -> Integer.toString(it.asCount(1))).toList();
        }
        throw node.location().error("needs two numbers of seconds, as in [10, 300].");
    }
}
