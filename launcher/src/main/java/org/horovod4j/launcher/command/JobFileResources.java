package org.horovod4j.launcher.command;

import org.horovod4j.launcher.yaml.YamlNode;

import java.util.List;
import java.util.Optional;

/// The resources of each worker. The values of CPUs and memory are checked but not used: without a
/// scheduler nothing can be reserved.
record JobFileResources(int gpus) {
    static JobFileResources of(Optional<YamlNode> node) {
        if (node.isEmpty()) {
            return new JobFileResources(0);
        }
        YamlNode.Mapping mapping = node.get().asMapping();
        mapping.requireKnownKeys(List.of("gpus", "cpus", "mem"));
        mapping.find("cpus").ifPresent(cpus -> check(cpus, "\\d+(\\.\\d+)?", "as in 4 or 0.5"));
        mapping.find("mem")
                .ifPresent(
                        mem -> check(mem, "\\d+(\\.\\d+)?\\s*([KMGT]i?)?B?", "as in 4096 or 16G"));
        return new JobFileResources(mapping.find("gpus").map(gpus -> gpus.asCount(0)).orElse(0));
    }

    private static void check(YamlNode node, String syntax, String example) {
        if (!node.asText().strip().matches(syntax)) {
            throw node.location()
                    .error("'%s' is not an amount, %s.".formatted(node.asText(), example));
        }
    }

    /// The default number of processes per worker: one per GPU, and at least one.
    int processes() {
        return Math.max(1, gpus);
    }
}
