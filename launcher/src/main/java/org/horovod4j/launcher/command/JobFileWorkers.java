package org.horovod4j.launcher.command;

import org.horovod4j.launcher.yaml.YamlNode;

import java.util.List;
import java.util.Optional;

/// The number of workers, and the number of processes of each.
record JobFileWorkers(int count, int processesPerWorker) {
    /// @param node a number, or `count` and `processes`; without it there is one worker
    static JobFileWorkers of(Optional<YamlNode> node, JobFileResources jobFileResources) {
        if (node.isEmpty()) {
            return new JobFileWorkers(1, jobFileResources.processes());
        }
        JobFileWorkers jobFileWorkers =
                switch (node.get()) {
                    case YamlNode.Mapping mapping -> of(mapping, jobFileResources);
                    case YamlNode.Scalar scalar ->
                            new JobFileWorkers(scalar.asCount(1), jobFileResources.processes());
                    case YamlNode.Sequence _, YamlNode.Empty _ ->
                            throw node.get()
                                    .location()
                                    .error("needs a number, or count and processes.");
                };
        if (jobFileWorkers.processes() > LaunchRequest.MAX_PROCESSES) {
            throw node.get()
                    .location()
                    .error("%s is more than a job can have.".formatted(jobFileWorkers));
        }
        return jobFileWorkers;
    }

    private static JobFileWorkers of(YamlNode.Mapping mapping, JobFileResources jobFileResources) {
        mapping.requireKnownKeys(List.of("count", "processes"));
        return new JobFileWorkers(
                mapping.find("count").map(count -> count.asCount(1)).orElse(1),
                mapping.find("processes")
                        .map(processes -> processes.asCount(1))
                        .orElse(jobFileResources.processes()));
    }

    long processes() {
        return (long) count * processesPerWorker;
    }

    @Override
    public String toString() {
        return "%s with %s"
                        .formatted(
                                many(count, "worker", "s"),
                                many(processesPerWorker, "process", "es"))
                + (count == 1 ? "" : " each");
    }

    private static String many(int number, String noun, String plural) {
        return number + " " + noun + (number == 1 ? "" : plural);
    }
}
