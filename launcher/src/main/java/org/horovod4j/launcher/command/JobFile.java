package org.horovod4j.launcher.command;

import org.horovod4j.launcher.file.YamlFile;
import org.horovod4j.launcher.file.YamlNode;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.text.MessageText;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/// The file of `--job`, which describes one training. `docs/job-file.md` has the schema.
///
/// @param name project and framework, for messages
/// @param hosts the hosts of its processes; empty for this machine
/// @param isMpi whether mpirun starts the processes
/// @param spark how spark-submit starts the program; null unless it does
/// @param environment environment variables of the processes
/// @param commands the command lines that each process runs in sequence
/// @param flags the flags that correspond to its elastic settings, with their values
/// @param notices messages about keys without effect
record JobFile(
        String name,
        Workers workers,
        List<Host> hosts,
        boolean isMpi,
        @Nullable SparkSettings spark,
        Map<String, String> environment,
        List<List<String>> commands,
        Map<LauncherFlag, List<String>> flags,
        List<String> notices) {
    /// Stands for a launch without `--job`.
    static final JobFile NONE =
            new JobFile(
                    "",
                    new Workers(0, 0, 0),
                    List.of(),
                    false,
                    null,
                    Map.of(),
                    List.of(),
                    Map.of(),
                    List.of());

    JobFile {
        hosts = List.copyOf(hosts);
        environment = Map.copyOf(environment);
        commands = List.copyOf(commands);
        flags = Map.copyOf(flags);
        notices = List.copyOf(notices);
    }

    /// Reads a file of our format, or a `riseml.yml`, which has everything under `train`.
    ///
    /// @throws org.horovod4j.ConfigurationException if the file cannot be read or is invalid
    static JobFile read(Path file) {
        YamlNode.Mapping root = YamlFile.read(file);
        return root.entries().containsKey(RiseMlFile.TRAIN)
                ? RiseMlFile.read(root)
                : JobFileReader.read(root);
    }

    /// The message for `--verbose`.
    String description() {
        return spark == null
                ? "%s: %s. CPUs and memory are not reserved.".formatted(name, workers)
                : "%s: %s. Spark runs each worker in an executor.".formatted(name, workers);
    }

    /// The number of workers, and the number of processes and GPUs of each.
    record Workers(int count, int processesPerWorker, int gpusPerWorker) {
        long processes() {
            return (long) count * processesPerWorker;
        }

        @Override
        public String toString() {
            return "%s with %s%s"
                    .formatted(
                            MessageText.count(count, "worker"),
                            MessageText.count(processesPerWorker, "process"),
                            count == 1 ? "" : " each");
        }
    }
}
