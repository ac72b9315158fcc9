package org.horovod4j.option;

import java.util.Arrays;
import java.util.stream.Collectors;

/// The reference page of the options, as Markdown.
final class OptionsPage {
    private OptionsPage() {}

    /// @param command generates the page
    static String render(String command) {
        return """
        # Options

        An option is an environment variable of the training processes. Those with a flag can also be passed to
        `horovodrun`, which sets the variable for each process it starts. A blank variable counts as not set. A value
        that is not allowed stops the start with an error. A `HOROVOD_*` variable that is not listed here is ignored
        with a warning.

        This page is generated from `Options.java`, `ElasticOptions.java` and `RuntimeOptions.java` in
        `core/src/main/java/org/horovod4j/option` by `%s`
        %s
        ## Variables of Horovod without effect

        Horovod4J recognizes these names. At the start of a process, one warning explains why each has no effect.

        | Variable | Why |
        |---|---|
        %s
        """
                .formatted(
                        command,
                        Arrays.stream(OptionGroup.values())
                                .map(OptionsPage::section)
                                .collect(Collectors.joining()),
                        UnsupportedVariable.all().stream()
                                .map(OptionsPage::row)
                                .collect(Collectors.joining("\n")));
    }

    private static String section(OptionGroup group) {
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
                        option.names().stream()
                                .map(OptionsPage::code)
                                .collect(Collectors.joining(", or ")),
                        option.flags().stream()
                                .map(flag -> code("--" + flag.name()))
                                .collect(Collectors.joining(", ")),
                        option.byDefault().isPresent()
                                ? code(option.defaultText())
                                : option.defaultText(),
                        option.allowed(),
                        option.help());
    }

    private static String row(UnsupportedVariable variables) {
        return "| %s | %s%s |"
                .formatted(
                        variables.names().stream()
                                .map(OptionsPage::code)
                                .collect(Collectors.joining(", ")),
                        variables.reason(),
                        variables.needsWarning() ? "" : " Accepted without a warning.");
    }

    private static String code(String text) {
        return "`" + text + "`";
    }
}
