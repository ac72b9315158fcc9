package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.yaml.YamlFile;
import org.horovod4j.launcher.yaml.YamlNode;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// The file of `--job`: one training, described once. `docs/job-file.md` has the schema.
///
/// @param name for messages: project and framework
/// @param hosts where its processes may run; empty for this machine
/// @param environment variables for the job and its processes
/// @param commands what each process runs, one after the other
/// @param elastic what it says in place of flags about processes that come and go
/// @param notices what the user should hear of keys without effect
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

    /// Reads a file of our own form, or a `riseml.yml`, which has everything below `train`.
    ///
    /// @throws ConfigurationException when the file cannot be read or says what makes no sense
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

    /// How messages call the job.
    ///
    /// @param outer has the project
    /// @param inner has the framework
    static String name(YamlNode.Mapping outer, YamlNode.Mapping inner) {
        String project = outer.find("project").map(YamlNode::asText).orElse("without a name");
        return "project %s%s"
                .formatted(
                        project,
                        inner.find("framework")
                                .map(framework -> " (%s)".formatted(framework.asText()))
                                .orElse(""));
    }

    /// One line for `--verbose`.
    String description() {
        return "%s: %s. CPUs and memory are not reserved.".formatted(name, jobFileWorkers);
    }
}
