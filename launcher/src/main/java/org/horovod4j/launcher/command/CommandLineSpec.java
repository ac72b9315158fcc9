package org.horovod4j.launcher.command;

import org.horovod4j.launcher.command.LauncherFlag.Section;
import org.horovod4j.option.Flag;
import org.horovod4j.option.Option;
import org.horovod4j.option.OptionGroup;
import org.horovod4j.option.Options;

import picocli.CommandLine;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/// All flags there are, in the forms that picocli reads a command line by, and prints and completes.
///
/// Built by calls rather than annotations, which picocli would have to look up at every start.
/// Options end at the first word that is none: all from there on belongs to the program.
final class CommandLineSpec {
    private CommandLineSpec() {}

    /// To read command lines by, as every start does. It lacks the chapters of the help: picocli
    /// writes a synopsis of each when it is made, which takes longer than all the flags do.
    static CommandLine forParsing() {
        CommandSpec command = command();
        sections(false).flatMap(chapter -> chapter.flags().stream()).forEach(command::addOption);
        return commandLine(command);
    }

    /// To print the help and to complete by.
    static CommandLine forHelp() {
        CommandSpec command = command();
        sections(true).map(CommandLineSpec::group).forEach(command::addArgGroup);
        Usage.describe(command.usageMessage());
        return commandLine(command);
    }

    /// A part of the help.
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
                // Words such as @file are for the program to read.
                .setExpandAtFiles(false)
                // Otherwise -hostfle would be read as -h and the like, and not as a slip of
                // -hostfile.
                .setPosixClusteredShortOptionsAllowed(false)
                .setUsageHelpAutoWidth(true);
    }

    /// @param isShown whether anybody reads what is said of the flags
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
            spec.completionCandidates(ShellCompletion.SHELLS);
        }
        return spec.usageHelp(flag == LauncherFlag.HELP)
                .versionHelp(flag == LauncherFlag.VERSION)
                .build();
    }

    /// The flags for an option of the processes; the help is that of the variable, said once.
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

    /// What is read, but not worth a line of the help.
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
