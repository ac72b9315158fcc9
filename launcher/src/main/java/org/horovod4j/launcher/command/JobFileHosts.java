package org.horovod4j.launcher.command;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.yaml.YamlNode;
import org.horovod4j.option.SpellingSuggestion;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/// The keys `hosts` and `engine` of a job file.
final class JobFileHosts {
    private static final List<String> PLANNED_ENGINES =
            List.of("slurm", "kubernetes", "yarn", "spark", "docker", "mpi", "lsf", "ray");

    private JobFileHosts() {}

    /// The hosts; empty for this machine.
    static List<Host> of(YamlNode.Mapping root, JobFileWorkers jobFileWorkers) {
        Optional<YamlNode> hosts = root.find("hosts");
        root.find("engine").ifPresent(engine -> check(engine, hosts));
        return hosts.map(node -> hosts(node, jobFileWorkers)).orElse(List.of());
    }

    private static void check(YamlNode engine, Optional<YamlNode> hosts) {
        String name = engine.asText().strip();
        switch (name) {
            case "local" -> {
                if (hosts.isPresent()) {
                    throw engine.location()
                            .error(
                                    "local means this machine, but hosts are named in line %d. Leave one out."
                                            .formatted(hosts.get().location().line()));
                }
            }
            case "ssh" -> {
                if (hosts.isEmpty()) {
                    throw engine.location()
                            .error("ssh needs hosts. Name them, as in hosts: [gpu1, gpu2].");
                }
            }
            default -> throw engine.location().error(unknown(name));
        }
    }

    private static String unknown(String name) {
        return PLANNED_ENGINES.contains(name)
                ? "jobs on '%s' come in a later version. Now there are local and ssh."
                        .formatted(name)
                : "there is no engine '%s'.%s Now there are local and ssh."
                        .formatted(
                                name,
                                SpellingSuggestion.nearest(name, List.of("local", "ssh"), 0)
                                        .map(meant -> " Did you mean %s?".formatted(meant))
                                        .orElse(""));
    }

    /// A host without slots gets one worker.
    private static List<Host> hosts(YamlNode node, JobFileWorkers jobFileWorkers) {
        String text =
                switch (node) {
                    case YamlNode.Sequence sequence ->
                            sequence.items().stream()
                                    .map(YamlNode::asText)
                                    .collect(Collectors.joining(","));
                    case YamlNode.Scalar _, YamlNode.Mapping _, YamlNode.Empty _ -> node.asText();
                };
        return Host.list(node.location().toString(), text, jobFileWorkers.processesPerWorker());
    }
}
