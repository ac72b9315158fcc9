package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.yaml.YamlFile;
import org.horovod4j.launcher.yaml.YamlNode;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// The file of `--job`, which describes one training. `docs/job-file.md` has the schema.
///
/// @param name project and framework, for messages
/// @param hosts the hosts of its processes; empty for this machine
/// @param environment environment variables of the processes
/// @param commands the command lines that each process runs in sequence
/// @param elastic the flags that correspond to its elastic settings
/// @param notices messages about keys without effect
record JobFile(
        String name,
        JobFileWorkers jobFileWorkers,
        List<Host> hosts,
        Map<String, String> environment,
        List<List<String>> commands,
        Map<LauncherFlag, List<String>> elastic,
        List<String> notices) {
    private static final List<String> KEYS =
            List.of(
                    "project",
                    "framework",
                    "workers",
                    "resources",
                    "hosts",
                    "engine",
                    "elastic",
                    "environment",
                    "run");

    JobFile {
        hosts = List.copyOf(hosts);
        environment = Map.copyOf(environment);
        commands = List.copyOf(commands);
        elastic = Map.copyOf(elastic);
        notices = List.copyOf(notices);
    }

    /// Reads a file of our format, or a `riseml.yml`, which has everything under `train`.
    ///
    /// @throws ConfigurationException if the file cannot be read or is invalid
    static JobFile read(Path file) {
        YamlNode.Mapping root = YamlFile.read(file);
        return root.entries().containsKey(RiseMlFile.TRAIN)
                ? RiseMlFile.read(root)
                : fromOwnFormat(root);
    }

    private static JobFile fromOwnFormat(YamlNode.Mapping root) {
        root.requireKnownKeys(KEYS);
        JobFileWorkers jobFileWorkers =
                JobFileWorkers.of(
                        root.find("workers"), JobFileResources.of(root.find("resources")));
        List<Host> hosts = JobFileHosts.of(root, jobFileWorkers);
        JobFileElastic elastic = JobFileElastic.of(root);
        Map<String, String> environment = new LinkedHashMap<>(elastic.variables());
        root.find("environment").map(JobFileEnvironment::of).ifPresent(environment::putAll);
        return new JobFile(
                name(root, root),
                jobFileWorkers,
                hosts,
                environment,
                JobFileCommands.of(root),
                elastic.flags(),
                List.of());
    }

    /// The name of the job in messages.
    ///
    /// @param outer the section with the project
    /// @param inner the section with the framework
    static String name(YamlNode.Mapping outer, YamlNode.Mapping inner) {
        String project = outer.find("project").map(YamlNode::asText).orElse("without a name");
        return "project %s%s"
                .formatted(
                        project,
                        inner.find("framework")
                                .map(framework -> " (%s)".formatted(framework.asText()))
                                .orElse(""));
    }

    /// The message for `--verbose`.
    String description() {
        return "%s: %s. CPUs and memory are not reserved.".formatted(name, jobFileWorkers);
    }
}
