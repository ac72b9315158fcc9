package org.horovod4j.launcher.command;

import org.horovod4j.launcher.yaml.YamlNode;

import java.util.List;
import java.util.regex.Pattern;

/// The key `run` of a job file: what each process runs, line by line.
///
/// A line goes to `sh -c`, and so may use variables, pipes and `&&`. But a plain `java …` is run as
/// it would be from the command line, where it gets the right Java and the options it needs.
final class JobFileCommands {
    /// Nothing in it means anything to a shell but the space between words.
    private static final Pattern PLAIN_JAVA = Pattern.compile("(\\S*/)?java [\\w@%+=:,./ -]+");

    private JobFileCommands() {}

    /// @param mapping that has the key
    static List<List<String>> of(YamlNode.Mapping mapping) {
        YamlNode run =
                mapping.find("run")
                        .orElseThrow(
                                () ->
                                        mapping.location()
                                                .error(
                                                        "the key run is missing. Say what each process"
                                                                + " runs, as in run: java -jar train.jar"));
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

    /// The lines of one text; a backslash at the end of a line joins it with the next.
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
