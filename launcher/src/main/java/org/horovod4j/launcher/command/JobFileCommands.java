package org.horovod4j.launcher.command;

import org.horovod4j.launcher.yaml.YamlNode;

import java.util.List;
import java.util.regex.Pattern;

/// The key `run` of a job file: the commands that each process runs, line by line.
///
/// A line is passed to `sh -c`, so variables, pipes and `&&` work. But a plain `java …` line is run
/// directly, as from the command line, with the right Java and the options it needs.
final class JobFileCommands {
    /// A line without special characters of the shell except spaces.
    private static final Pattern PLAIN_JAVA = Pattern.compile("(\\S*/)?java [\\w@%+=:,./ -]+");

    private JobFileCommands() {}

    /// @param mapping the section with the key
    static List<List<String>> of(YamlNode.Mapping mapping) {
        YamlNode run =
                mapping.find("run")
                        .orElseThrow(
                                () ->
                                        mapping.location()
                                                .error(
                                                        "the key run is missing. Add the command of each process,"
                                                                + " as in run: java -jar train.jar"));
        List<String> lines =
                switch (run) {
                    case YamlNode.Scalar scalar -> lines(scalar.text());
                    case YamlNode.Sequence sequence ->
                            sequence.items().stream()
                                    .map(JobFileCommands::line)
                                    .map(String::strip)
                                    .toList();
                    case YamlNode.Mapping _, YamlNode.Empty _ ->
                            throw run.location().error("needs a command, or a list of them.");
                };
        if (lines.isEmpty() || lines.contains("")) {
            throw run.location().error("a command is empty.");
        }
        return lines.stream().map(JobFileCommands::words).toList();
    }

    private static String line(YamlNode item) {
        if (item instanceof YamlNode.Mapping mapping) {
            throw mapping.location()
                    .error(
                            "a command with a colon and a space reads as a key and its value. Put it"
                                    + " between quotes.");
        }
        return item.asText();
    }

    /// The lines of a text. A backslash at the end of a line joins it with the next.
    private static List<String> lines(String text) {
        return text.replaceAll("\\\\\\R", " ")
                .lines()
                .map(String::strip)
                .filter(line -> !line.isEmpty())
                .toList();
    }

    private static List<String> words(String line) {
        return PLAIN_JAVA.matcher(line).matches()
                ? List.of(line.split(" +"))
                : List.of("sh", "-c", line);
    }
}
