package org.horovod4j.launcher.command;

import org.horovod4j.launcher.yaml.YamlNode;

import java.util.List;
import java.util.Optional;

/// How many workers a job has, and how many processes each of them runs.
record Workers(int count, int processesEach) {
    /// @param node a number, or `count` and `processes`; a job without has one worker
    static Workers of(Optional<YamlNode> node, Resources resources) {
        if (node.isEmpty()) {
            return new Workers(1, resources.processes());
        }
        Workers workers =
                switch (node.get()) {
                    case YamlNode.Section section -> of(section, resources);
                    case YamlNode.Text text -> new Workers(text.asCount(1), resources.processes());
                    case YamlNode.Items _, YamlNode.Nothing _ ->
                            throw node.get()
                                    .where()
                                    .error("needs a number, or count and processes.");
                };
        if (workers.processes() > LaunchRequest.MOST_PROCESSES) {
            throw node.get().where().error("%s is more than a job can have.".formatted(workers));
        }
        return workers;
    }

    private static Workers of(YamlNode.Section section, Resources resources) {
        section.allow(List.of("count", "processes"));
        return new Workers(
                section.find("count").map(count -> count.asCount(1)).orElse(1),
                section.find("processes")
                        .map(processes -> processes.asCount(1))
                        .orElse(resources.processes()));
    }

    long processes() {
        return (long) count * processesEach;
    }

    @Override
    public String toString() {
        return "%s with %s"
                        .formatted(many(count, "worker", "s"), many(processesEach, "process", "es"))
                + (count == 1 ? "" : " each");
    }

    private static String many(int number, String noun, String plural) {
        return number + " " + noun + (number == 1 ? "" : plural);
    }
}
