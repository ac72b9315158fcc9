package org.horovod4j.option;

import java.util.Arrays;
import java.util.stream.Collectors;

/// The reference page of the options, as Markdown.
final class OptionsPage {
    private OptionsPage() {}

    /// @param command what makes the page again
    static String render(String command) {
        return """
        # Options

        An option is an environment variable of the training processes. Those with a flag can also be given to
        `horovodrun`, which sets the variable for each process it starts. A blank variable counts as not set. A value
        that is not allowed ends the start with an error; a `HOROVOD_*` variable that is not listed here is ignored
        with a warning.

        This page is made from `core/src/main/java/org/horovod4j/option/Options.java`; to make it again:
        `%s`
        %s"""
                .formatted(
                        command,
                        Arrays.stream(OptionGroup.values())
                                .map(OptionsPage::chapter)
                                .collect(Collectors.joining()));
    }

    private static String chapter(OptionGroup group) {
        return """

        ## %s

        %s

        | Variable | Flag | Default | Allowed | Meaning |
        |---|---|---|---|---|
        %s
        """
                .formatted(
                        group.title(),
                        group.summary(),
                        Options.all().stream()
                                .filter(option -> option.group() == group)
                                .map(OptionsPage::row)
                                .collect(Collectors.joining("\n")));
    }

    private static String row(Option<?> option) {
        return "| %s | %s | %s | %s | %s |"
                .formatted(
                        option.names().map(OptionsPage::code).collect(Collectors.joining(", or ")),
                        option.flag().map(flag -> code("--" + flag)).orElse(""),
                        option.byDefault().isPresent()
                                ? code(option.defaultText())
                                : option.defaultText(),
                        option.allowed(),
                        option.help());
    }

    private static String code(String text) {
        return "`" + text + "`";
    }
}
