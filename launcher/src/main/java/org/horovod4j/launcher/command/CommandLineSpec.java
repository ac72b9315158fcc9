package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.LauncherFlag.Section;
import org.horovod4j.option.Flag;
import org.horovod4j.option.Option;
import org.horovod4j.option.OptionGroup;
import org.horovod4j.option.Options;

import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/// All flags, in the form in which picocli parses, prints and completes them.
///
/// Built by calls instead of annotations, which picocli would read by reflection at every start.
/// Options end at the first argument that is not an option: the rest belongs to the program.
final class CommandLineSpec {
    private static final List<String> COMPLETION_SHELLS = List.of("bash", "zsh");

    private CommandLineSpec() {}

    /// The specification for parsing, used at every start. It has no help sections: picocli renders
    /// the synopsis of each when it is created, which takes longer than all flags together.
    static CommandLine forParsing() {
        CommandSpec command = command();
        sections(false).flatMap(chapter -> chapter.flags().stream()).forEach(command::addOption);
        return commandLine(command);
    }

    /// The specification for help and completion.
    static CommandLine forHelp() {
        CommandSpec command = command();
        sections(true).map(CommandLineSpec::group).forEach(command::addArgGroup);
        Usage.describe(command.usageMessage());
        return commandLine(command);
    }

    /// The script by which a shell completes our flags. One script serves both shells: in zsh it
    /// turns on the emulation of bash's completion.
    static String completionScript(String shell) {
        if (!COMPLETION_SHELLS.contains(shell)) {
            throw new ConfigurationException(
                    "%s: '%s' is not a shell that horovodrun can complete for. Give bash or zsh."
                            .formatted(LauncherFlag.COMPLETION, shell));
        }
        return AutoComplete.bash("horovodrun", forHelp());
    }

    /// A section of the help.
    private record HelpSection(String title, List<OptionSpec> flags) {}

    private static CommandSpec command() {
        return CommandSpec.create().name("horovodrun");
    }

    private static CommandLine commandLine(CommandSpec command) {
        addHidden(command);
        command.addPositional(
                PositionalParamSpec.builder()
                        .paramLabel("command…")
                        .arity("0..*")
                        .type(List.class)
                        .auxiliaryTypes(String.class)
                        .hidden(true)
                        .build());
        return new CommandLine(command)
                .setStopAtPositional(true)
                // Arguments such as @file belong to the program.
                .setExpandAtFiles(false)
                // Otherwise -hostfle would be read as -h with a value, not as a misspelt -hostfile.
                .setPosixClusteredShortOptionsAllowed(false)
                .setUsageHelpAutoWidth(true);
    }

    /// @param isShown whether descriptions are needed
    private static Stream<HelpSection> sections(boolean isShown) {
        return Stream.of(
                        launcherSections(
                                Section.PROCESSES,
                                Section.FILES,
                                Section.ELASTIC,
                                Section.REMOTE,
                                Section.CONTROLLER),
                        Arrays.stream(OptionGroup.values())
                                .map(group -> optionSection(group, isShown)),
                        launcherSections(Section.OUTPUT))
                .flatMap(chapters -> chapters)
                .filter(chapter -> !chapter.flags().isEmpty());
    }

    private static Stream<HelpSection> launcherSections(Section... chapters) {
        return Arrays.stream(chapters)
                .map(section -> new HelpSection(section.title(), launcherFlags(section)));
    }

    private static HelpSection optionSection(OptionGroup group, boolean isShown) {
        return new HelpSection(
                group.title(),
                Options.all().stream()
                        .filter(option -> option.group() == group)
                        .flatMap(option -> flags(option, isShown).stream())
                        .toList());
    }

    private static List<OptionSpec> launcherFlags(Section section) {
        return Arrays.stream(LauncherFlag.values())
                .filter(flag -> flag.section() == section)
                .map(CommandLineSpec::launcherFlag)
                .toList();
    }

    private static OptionSpec launcherFlag(LauncherFlag flag) {
        OptionSpec.Builder spec =
                OptionSpec.builder(flag.names().toArray(String[]::new)).description(flag.help());
        if (flag.label() != null) {
            spec.paramLabel(flag.label());
            if (flag.isRepeatable() || flag.arity() > 1) {
                spec.type(List.class)
                        .auxiliaryTypes(String.class)
                        .arity(Integer.toString(flag.arity()));
            } else {
                spec.type(String.class);
            }
        }
        if (flag == LauncherFlag.COMPLETION) {
            spec.completionCandidates(COMPLETION_SHELLS);
        }
        return spec.usageHelp(flag == LauncherFlag.HELP)
                .versionHelp(flag == LauncherFlag.VERSION)
                .build();
    }

    /// The flags of an option. The help text of the option is given once, at the first flag.
    private static List<OptionSpec> flags(Option<?> option, boolean isShown) {
        List<OptionSpec> specs = new ArrayList<>();
        for (OptionFlag flag : OptionFlag.of(option)) {
            OptionSpec.Builder spec = flag(flag);
            if (isShown) {
                spec.description((specs.isEmpty() ? option.help() + " " : "") + meaning(flag));
            }
            specs.add(spec.build());
        }
        return specs;
    }

    private static OptionSpec.Builder flag(OptionFlag flag) {
        OptionSpec.Builder spec = OptionSpec.builder(flag.longName());
        return switch (flag.flag()) {
            case Flag.Switch _ -> spec.type(boolean.class).arity("0");
            case Flag.Valued _ -> spec.type(String.class).paramLabel("VALUE");
        };
    }

    private static String meaning(OptionFlag flag) {
        String variable = flag.option().variable();
        return switch (flag.flag()) {
            case Flag.Switch(String _, String value) -> "Sets %s to %s.".formatted(variable, value);
            case Flag.Valued(String name, _) ->
                    "VALUE: %s. Sets %s.".formatted(flag.option().valuesOf(name), variable);
        };
    }

    /// Flags that are accepted but not listed in the help.
    private static void addHidden(CommandSpec command) {
        for (LauncherFlag flag : LauncherFlag.values()) {
            if (flag.section() == Section.HIDDEN) {
                command.addOption(hidden(flag.names(), 0));
            }
        }
        for (IgnoredFlag flag : IgnoredFlag.all()) {
            command.addOption(hidden(List.of(flag.longName()), flag.hasValue() ? 1 : 0));
        }
    }

    private static OptionSpec hidden(List<String> words, int values) {
        OptionSpec.Builder spec = OptionSpec.builder(words.toArray(String[]::new)).hidden(true);
        if (values > 0) {
            spec.type(List.class).auxiliaryTypes(String.class).arity(String.valueOf(values));
        }
        return spec.build();
    }

    private static ArgGroupSpec group(HelpSection chapter) {
        ArgGroupSpec.Builder group =
                ArgGroupSpec.builder().heading("%n" + chapter.title() + "%n").validate(false);
        chapter.flags().forEach(group::addArg);
        return group.build();
    }
}
