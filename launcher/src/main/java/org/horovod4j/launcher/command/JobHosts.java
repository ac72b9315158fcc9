package org.horovod4j.launcher.command;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.yaml.YamlNode;
import org.horovod4j.option.Spelling;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/// Where a job file lets its processes run: its keys `hosts` and `engine`.
final class JobHosts {
    private static final List<String> LATER =
            List.of("slurm", "kubernetes", "yarn", "spark", "docker", "mpi", "lsf", "ray");

    private JobHosts() {}

    /// The hosts; none for this machine.
    static List<Host> of(YamlNode.Section root, Workers workers) {
        Optional<YamlNode> hosts = root.find("hosts");
        root.find("engine").ifPresent(engine -> check(engine, hosts));
        return hosts.map(node -> hosts(node, workers)).orElse(List.of());
    }

    private static void check(YamlNode engine, Optional<YamlNode> hosts) {
        String name = engine.asText().strip();
        switch (name) {
            case "local" -> {
                if (hosts.isPresent()) {
                    throw engine.where()
                            .error(
                                    "local means this machine, but hosts are named in line %d. Leave one out."
                                            .formatted(hosts.get().where().line()));
                }
            }
            case "ssh" -> {
                if (hosts.isEmpty()) {
                    throw engine.where()
                            .error("ssh needs hosts. Name them, as in hosts: [gpu1, gpu2].");
                }
            }
            default -> throw engine.where().error(unknown(name));
        }
    }

    private static String unknown(String name) {
        return LATER.contains(name)
                ? "jobs on '%s' come in a later version. Now there are local and ssh."
                        .formatted(name)
                : "there is no engine '%s'.%s Now there are local and ssh."
                        .formatted(
                                name,
                                Spelling.nearest(name, List.of("local", "ssh"), 0)
                                        .map(meant -> " Did you mean %s?".formatted(meant))
                                        .orElse(""));
    }

    /// A host that gives no slots takes one worker.
    private static List<Host> hosts(YamlNode node, Workers workers) {
        String text =
                switch (node) {
                    case YamlNode.Items items ->
                            items.items().stream()
                                    .map(YamlNode::asText)
                                    .collect(Collectors.joining(","));
                    case YamlNode.Text _, YamlNode.Section _, YamlNode.Nothing _ -> node.asText();
                };
        return Host.list(node.where().toString(), text, workers.processesEach());
    }
}
