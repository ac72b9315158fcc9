package org.horovod4j.launcher.command;

import org.horovod4j.launcher.command.LauncherFlag.Chapter;
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

/// All flags there are, in the form that picocli parses, prints and completes.
///
/// Built by calls rather than annotations, which picocli would have to look up at every start.
/// Options end at the first word that is none: all from there on belongs to the program.
final class Specification {
    private Specification() {}

    static CommandLine commandLine() {
        CommandSpec command = CommandSpec.create().name("horovodrun");
        addLauncherFlags(
                command,
                Chapter.PROCESSES,
                Chapter.FILES,
                Chapter.ELASTIC,
                Chapter.REMOTE,
                Chapter.CONTROLLER);
        for (OptionGroup chapter : OptionGroup.values()) {
            List<OptionSpec> flags =
                    Options.all().stream()
                            .filter(option -> option.group() == chapter)
                            .flatMap(option -> flags(option).stream())
                            .toList();
            addGroup(command, chapter.title(), flags);
        }
        addLauncherFlags(command, Chapter.OUTPUT);
        addHidden(command);
        command.addPositional(
                PositionalParamSpec.builder()
                        .paramLabel("command…")
                        .arity("0..*")
                        .type(List.class)
                        .auxiliaryTypes(String.class)
                        .hidden(true)
                        .build());
        Usage.describe(command.usageMessage());
        return new CommandLine(command)
                .setStopAtPositional(true)
                // Words such as @file are for the program to read.
                .setExpandAtFiles(false)
                // Otherwise -hostfle would be read as -h and the like, and not as a slip of
                // -hostfile.
                .setPosixClusteredShortOptionsAllowed(false)
                .setUsageHelpAutoWidth(true);
    }

    private static void addLauncherFlags(CommandSpec command, Chapter... chapters) {
        for (Chapter chapter : chapters) {
            addGroup(command, chapter.title(), launcherFlags(chapter));
        }
    }

    private static List<OptionSpec> launcherFlags(Chapter chapter) {
        return Arrays.stream(LauncherFlag.values())
                .filter(flag -> flag.chapter() == chapter)
                .map(Specification::launcherFlag)
                .toList();
    }

    private static OptionSpec launcherFlag(LauncherFlag flag) {
        OptionSpec.Builder spec =
                OptionSpec.builder(flag.words().toArray(String[]::new)).description(flag.help());
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
            spec.completionCandidates(Completion.SHELLS);
        }
        return spec.usageHelp(flag == LauncherFlag.HELP)
                .versionHelp(flag == LauncherFlag.VERSION)
                .build();
    }

    /// The flags for an option of the processes; the help is that of the variable, said once.
    private static List<OptionSpec> flags(Option<?> option) {
        List<OptionSpec> specs = new ArrayList<>();
        for (OptionFlag flag : OptionFlag.of(option)) {
            specs.add(flag(flag, specs.isEmpty() ? option.help() + " " : ""));
        }
        return specs;
    }

    private static OptionSpec flag(OptionFlag flag, String help) {
        OptionSpec.Builder spec = OptionSpec.builder(flag.word());
        String variable = flag.option().variable();
        String sets =
                switch (flag.flag()) {
                    case Flag.Switch(String _, String value) -> {
                        spec.type(boolean.class).arity("0");
                        yield "Sets %s to %s.".formatted(variable, value);
                    }
                    case Flag.Valued _ -> {
                        spec.type(String.class).paramLabel("VALUE");
                        yield "Sets %s.".formatted(variable);
                    }
                };
        return spec.description(help + sets).build();
    }

    /// What is read, but not worth a line of the help.
    private static void addHidden(CommandSpec command) {
        for (LauncherFlag flag : LauncherFlag.values()) {
            if (flag.chapter() == Chapter.HIDDEN) {
                command.addOption(hidden(flag.words(), 0));
            }
        }
        for (HorovodFlag flag : HorovodFlag.all()) {
            command.addOption(hidden(List.of(flag.word()), flag.isValued() ? 1 : 0));
        }
    }

    private static OptionSpec hidden(List<String> words, int values) {
        OptionSpec.Builder spec = OptionSpec.builder(words.toArray(String[]::new)).hidden(true);
        if (values > 0) {
            spec.type(List.class).auxiliaryTypes(String.class).arity(String.valueOf(values));
        }
        return spec.build();
    }

    private static void addGroup(CommandSpec command, String title, List<OptionSpec> options) {
        if (options.isEmpty()) {
            return;
        }
        ArgGroupSpec.Builder group =
                ArgGroupSpec.builder().heading("%n" + title + "%n").validate(false);
        options.forEach(group::addArg);
        command.addArgGroup(group.build());
    }
}
