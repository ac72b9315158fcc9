package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.LauncherFlag.Section;
import org.horovod4j.option.Flag;
import org.horovod4j.option.Option;
import org.horovod4j.option.OptionGroup;
import org.horovod4j.option.Options;
import org.horovod4j.option.RuntimeOptions;

import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/// All flags, in the form in which picocli parses, prints and completes them.
///
/// Built by calls instead of annotations, which picocli would read by reflection at every start.
/// Options end at the first argument that is not an option: the rest belongs to the program.
final class CommandLineSpec {
    private static final List<String> COMPLETION_SHELLS = List.of("bash", "zsh");

    private static final List<LauncherFlag> EVERYDAY_FLAGS =
            List.of(
                    LauncherFlag.PROCESSES,
                    LauncherFlag.HOSTS,
                    LauncherFlag.HOST_FILE,
                    LauncherFlag.JOB,
                    LauncherFlag.MIN_PROCESSES,
                    LauncherFlag.COPY,
                    LauncherFlag.MPI,
                    LauncherFlag.OUTPUT_FOLDER,
                    LauncherFlag.VERBOSE,
                    LauncherFlag.CHECK_BUILD,
                    LauncherFlag.HELP_ALL,
                    LauncherFlag.VERSION);

    private static final List<Option<?>> EVERYDAY_OPTIONS =
            List.of(
                    Options.START_TIMEOUT,
                    RuntimeOptions.TIMELINE,
                    RuntimeOptions.AUTOTUNE,
                    RuntimeOptions.LOG_LEVEL);

    private CommandLineSpec() {}

    /// The specification for parsing, used at every start. It has no help sections: picocli renders
    /// the synopsis of each when it is created, which takes longer than all flags together.
    static CommandLine forParsing() {
        CommandSpec command = command();
        sections(false).values().forEach(flags -> flags.forEach(command::addOption));
        return commandLine(command);
    }

    /// The specification for the help of everyday flags, which fits on one screen.
    static CommandLine forShortHelp() {
        CommandSpec command = command();
        List<OptionSpec> flags = new ArrayList<>();
        for (LauncherFlag flag : EVERYDAY_FLAGS) {
            flags.add(launcherFlag(flag, firstSentence(flag.help())));
        }
        for (Option<?> option : EVERYDAY_OPTIONS) {
            OptionFlag flag = OptionFlag.of(option).getFirst();
            flags.add(optionFlag(flag).description(firstSentence(option.help())).build());
        }
        command.addArgGroup(group("Everyday flags", flags));
        Usage.describeShort(command.usageMessage());
        return commandLine(command);
    }

    private static String firstSentence(String text) {
        return text.replaceFirst("(?s)(?<=\\.) .*", "");
    }

    /// The specification for the help of all flags, and for completion.
    static CommandLine forHelp() {
        CommandSpec command = command();
        sections(true).forEach((title, flags) -> command.addArgGroup(group(title, flags)));
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

    private static CommandSpec command() {
        return CommandSpec.create().name("horovodrun");
    }

    /// Adds what the help does not list.
    private static CommandLine commandLine(CommandSpec command) {
        for (LauncherFlag flag : LauncherFlag.values()) {
            if (flag.isHidden()) {
                command.addOption(launcherFlag(flag));
            }
        }
        IgnoredFlag.all().forEach(flag -> command.addOption(ignoredFlag(flag)));
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

    private static ArgGroupSpec group(String title, List<OptionSpec> flags) {
        ArgGroupSpec.Builder group =
                ArgGroupSpec.builder().heading("%n" + title + "%n").validate(false);
        flags.forEach(group::addArg);
        return group.build();
    }

    /// The flags of each section of the help, by its title.
    ///
    /// @param isShown whether descriptions are needed
    private static SequencedMap<String, List<OptionSpec>> sections(boolean isShown) {
        SequencedMap<String, List<OptionSpec>> sections = new LinkedHashMap<>();
        for (Section section : Section.values()) {
            if (section == Section.OUTPUT) { // after the options of the processes
                for (OptionGroup group : OptionGroup.values()) {
                    sections.put(group.title(), optionFlags(group, isShown));
                }
            }
            sections.put(
                    section.title(),
                    section.flags().stream().map(CommandLineSpec::launcherFlag).toList());
        }
        sections.values().removeIf(List::isEmpty);
        return sections;
    }

    private static OptionSpec launcherFlag(LauncherFlag flag) {
        return launcherFlag(flag, flag.help());
    }

    private static OptionSpec launcherFlag(LauncherFlag flag, String help) {
        OptionSpec.Builder spec =
                OptionSpec.builder(flag.names().toArray(String[]::new))
                        .description(help)
                        .hidden(flag.isHidden())
                        .usageHelp(flag == LauncherFlag.HELP)
                        .versionHelp(flag == LauncherFlag.VERSION);
        if (flag.label() != null) {
            spec.paramLabel(flag.label())
                    .type(flag.isList() ? List.class : String.class)
                    .auxiliaryTypes(String.class)
                    .arity(Integer.toString(flag.arity()));
        }
        if (flag == LauncherFlag.COMPLETION) {
            spec.completionCandidates(COMPLETION_SHELLS);
        }
        return spec.build();
    }

    private static OptionSpec ignoredFlag(IgnoredFlag flag) {
        OptionSpec.Builder spec = OptionSpec.builder(flag.longName()).hidden(true);
        if (flag.hasValue()) {
            spec.type(List.class).auxiliaryTypes(String.class).arity("1");
        }
        return spec.build();
    }

    private static List<OptionSpec> optionFlags(OptionGroup group, boolean isShown) {
        return Options.all().stream()
                .filter(option -> option.group() == group)
                .flatMap(option -> optionFlags(option, isShown).stream())
                .toList();
    }

    /// The flags of an option. The help text of the option is given once, at the first flag.
    private static List<OptionSpec> optionFlags(Option<?> option, boolean isShown) {
        List<OptionSpec> specs = new ArrayList<>();
        for (OptionFlag flag : OptionFlag.of(option)) {
            OptionSpec.Builder spec = optionFlag(flag);
            if (isShown) {
                spec.description((specs.isEmpty() ? option.help() + " " : "") + meaning(flag));
            }
            specs.add(spec.build());
        }
        return specs;
    }

    private static OptionSpec.Builder optionFlag(OptionFlag flag) {
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
}
