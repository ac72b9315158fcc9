package org.horovod4j.launcher.command;

import org.horovod4j.launcher.yaml.YamlNode;

import java.util.List;
import java.util.regex.Pattern;

/// The key `run` of a job file: what each process runs, line by line.
///
/// A line goes to `sh -c`, and so may use variables, pipes and `&&`. But a plain `java …` is run as
/// it would be from the command line, where it gets the right Java and the options it needs.
final class RunLines {
    /// Nothing in it means anything to a shell but the space between words.
    private static final Pattern PLAIN_JAVA = Pattern.compile("(\\S*/)?java [\\w@%+=:,./ -]+");

    private RunLines() {}

    /// @param section that has the key
    static List<List<String>> of(YamlNode.Section section) {
        YamlNode run =
                section.find("run")
                        .orElseThrow(
                                () ->
                                        section.where()
                                                .error(
                                                        "the key run is missing. Say what each process"
                                                                + " runs, as in run: java -jar train.jar"));
        List<String> lines =
                switch (run) {
                    case YamlNode.Text text -> lines(text.text());
                    case YamlNode.Items items ->
                            items.items().stream().map(RunLines::line).map(String::strip).toList();
                    case YamlNode.Section _, YamlNode.Nothing _ ->
                            throw run.where().error("needs a command, or a list of them.");
                };
        if (lines.isEmpty() || lines.contains("")) {
            throw run.where().error("a command is empty.");
        }
        return lines.stream().map(RunLines::words).toList();
    }

    private static String line(YamlNode item) {
        if (item instanceof YamlNode.Section section) {
            throw section.where()
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
