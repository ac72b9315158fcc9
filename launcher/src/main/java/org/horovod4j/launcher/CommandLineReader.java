package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.option.Flag;
import org.horovod4j.option.Option;
import org.horovod4j.option.OptionGroup;
import org.horovod4j.option.Options;
import org.jspecify.annotations.Nullable;

import picocli.CommandLine;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.Model.UsageMessageSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/// Reads the command line of `horovodrun`; each option and its help are declared here, once.
///
/// Built by calls rather than annotations, which picocli would have to look up at every start.
/// Options end at the first word that is none: all from there on belongs to the program.
final class CommandLineReader {
    private static final String PROCESSES = "-np";
    private static final String HOSTS = "-H";
    private static final String VERBOSE = "--verbose";
    private static final String COMMAND = "command…";

    /// More than any machine takes, and few enough to keep sums of ranks inside an `int`.
    private static final int MOST_PROCESSES = 100_000;

    private final CommandLine commandLine =
            new CommandLine(specification())
                    .setStopAtPositional(true)
                    // Words such as @file are for the program to read.
                    .setExpandAtFiles(false)
                    .setUsageHelpAutoWidth(true);

    /// @throws ConfigurationException when the arguments make no sense
    Invocation read(String... arguments) {
        ParseResult parsed = parse(arguments);
        if (parsed.isUsageHelpRequested()) {
            return new Invocation.Tell(commandLine.getUsageMessage());
        }
        if (parsed.isVersionHelpRequested()) {
            return new Invocation.Tell(version());
        }
        int processes = processes(parsed.matchedOptionValue(PROCESSES, (String) null));
        String hosts = parsed.matchedOptionValue(HOSTS, "localhost:" + processes);
        List<String> command = parsed.matchedPositionalValue(0, List.of());
        if (command.isEmpty() || command.getFirst().isEmpty()) {
            throw new ConfigurationException(
                    "no command to run. Put it last, as in: horovodrun -np 4 java -jar train.jar");
        }
        return new Invocation.Launch(
                processes,
                Host.list(hosts),
                new Controller.Own(),
                new RemoteSide(null, List.of()),
                new Reporting(parsed.hasMatchedOption(VERBOSE), null, false),
                variables(parsed),
                List.of(command));
    }

    /// The variables that flags set; a value that the processes would refuse is refused here.
    private static Map<String, String> variables(ParseResult parsed) {
        Map<String, String> variables = new LinkedHashMap<>();
        for (Option<?> option : Options.all()) {
            List<Flag> given =
                    option.flags().stream()
                            .filter(flag -> parsed.hasMatchedOption(word(flag)))
                            .toList();
            if (given.size() > 1) {
                throw new ConfigurationException(
                        "%s and %s are about the same: give one of them."
                                .formatted(word(given.get(0)), word(given.get(1))));
            }
            given.forEach(flag -> variables.put(option.variable(), value(flag, parsed)));
        }
        return variables;
    }

    private static String value(Flag flag, ParseResult parsed) {
        return switch (flag) {
            case Flag.Switch(String _, String value) -> value;
            case Flag.Valued(String _, UnaryOperator<String> toVariable) ->
                    toVariable.apply(parsed.matchedOptionValue(word(flag), ""));
        };
    }

    private static String word(Flag flag) {
        return "--" + flag.name();
    }

    private ParseResult parse(String... arguments) {
        try {
            return commandLine.parseArgs(arguments);
        } catch (UnmatchedArgumentException e) {
            throw new ConfigurationException(unknown(e), e);
        } catch (MissingParameterException e) {
            throw new ConfigurationException(
                    "%s needs a value. See horovodrun --help."
                            .formatted(name(e.getMissing().getFirst())),
                    e);
        } catch (ParameterException e) {
            throw new ConfigurationException(e.getMessage() + ". See horovodrun --help.", e);
        }
    }

    private static String name(ArgSpec argument) {
        return argument instanceof OptionSpec option ? option.names()[0] : argument.paramLabel();
    }

    private static String unknown(UnmatchedArgumentException e) {
        String option = e.getUnmatched().getFirst();
        List<String> near = e.getSuggestions();
        String hint = near.isEmpty() ? "" : " Did you mean %s?".formatted(near.getFirst());
        return "unknown option '%s'.%s Options of the program come after it; see horovodrun --help."
                .formatted(option, hint);
    }

    private static int processes(@Nullable String text) {
        if (text == null) {
            throw new ConfigurationException(
                    "-np is missing. Say how many processes to start, as in -np 4.");
        }
        if (!text.matches("\\d{1,6}")
                || Integer.parseInt(text) < 1
                || Integer.parseInt(text) > MOST_PROCESSES) {
            throw new ConfigurationException(
                    "-np: '%s' is not a number of processes. Give a whole number, as in -np 4."
                            .formatted(text));
        }
        return Integer.parseInt(text);
    }

    private static String version() {
        String version = CommandLineReader.class.getPackage().getImplementationVersion();
        return "horovodrun (Horovod4J) %s, on Java %s%n"
                .formatted(version == null ? "built from source" : version, Runtime.version());
    }

    private static CommandSpec specification() {
        CommandSpec command = CommandSpec.create().name("horovodrun");
        command.addArgGroup(
                group(
                        "%nProcesses and hosts%n",
                        OptionSpec.builder(PROCESSES, "--num-proc")
                                .paramLabel("N")
                                .type(String.class)
                                .description("How many processes to start: the size of the world.")
                                .build(),
                        OptionSpec.builder(HOSTS, "--hosts")
                                .paramLabel("HOST:SLOTS,…")
                                .type(String.class)
                                .description(
                                        "Where they run, and how many each takes. Default:"
                                                + " localhost, with as many as -np. Other machines"
                                                + " come in a later version.")
                                .build()));
        for (OptionGroup chapter : OptionGroup.values()) {
            OptionSpec[] flags =
                    Options.all().stream()
                            .filter(option -> option.group() == chapter)
                            .flatMap(CommandLineReader::flags)
                            .toArray(OptionSpec[]::new);
            if (flags.length > 0) {
                command.addArgGroup(group("%n" + chapter.title() + "%n", flags));
            }
        }
        command.addArgGroup(
                group(
                        "%nOutput and help%n",
                        OptionSpec.builder(VERBOSE)
                                .description("Print each step and the command as it is run.")
                                .build(),
                        OptionSpec.builder("-h", "--help")
                                .usageHelp(true)
                                .description("Print this text.")
                                .build(),
                        OptionSpec.builder("-v", "--version")
                                .versionHelp(true)
                                .description("Print the version.")
                                .build()));
        command.addPositional(
                PositionalParamSpec.builder()
                        .paramLabel(COMMAND)
                        .arity("0..*")
                        .type(List.class)
                        .auxiliaryTypes(String.class)
                        .hidden(true)
                        .build());
        describe(command.usageMessage());
        return command;
    }

    /// The flags for an option of the processes; the help is that of the variable, said once.
    private static Stream<OptionSpec> flags(Option<?> option) {
        List<Flag> flags = option.flags();
        return flags.stream()
                .map(
                        flag ->
                                flag(
                                        flag,
                                        option,
                                        flag.equals(flags.getFirst()) ? option.help() : ""));
    }

    private static OptionSpec flag(Flag flag, Option<?> option, String help) {
        OptionSpec.Builder spec = OptionSpec.builder(word(flag));
        String sets =
                switch (flag) {
                    case Flag.Switch(String _, String value) -> {
                        spec.type(boolean.class).arity("0");
                        yield "Sets %s to %s.".formatted(option.variable(), value);
                    }
                    case Flag.Valued _ -> {
                        spec.type(String.class).paramLabel("VALUE");
                        yield "Sets %s.".formatted(option.variable());
                    }
                };
        return spec.description((help + " " + sets).strip()).build();
    }

    private static ArgGroupSpec group(String heading, OptionSpec... options) {
        ArgGroupSpec.Builder group = ArgGroupSpec.builder().heading(heading).validate(false);
        for (OptionSpec option : options) {
            group.addArg(option);
        }
        return group.build();
    }

    private static void describe(UsageMessageSpec usage) {
        usage.customSynopsis("horovodrun -np N [-H HOST:SLOTS,…] [options] [--] command…");
        usage.sortOptions(false);
        usage.description(
                "",
                "Starts a program N times, as the ranks 0 to N-1 of one job. Each line of output is"
                        + " marked with its rank. When one process fails, the others are ended, and"
                        + " the first failure is reported.");
        // Lines of at most 78 characters: picocli breaks the others where it likes.
        usage.footer(
                """

                The program
                  The word java means the java on the PATH if that is Java 25 or newer, else
                  the one that runs horovodrun. A java program gets the options
                    --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED
                  unless it names that module itself. Its standard input is empty.

                Examples
                  horovodrun -np 4 java -cp app.jar Train --epochs 3
                  horovodrun -np 2 -H localhost:4 --verbose -- ./train.sh

                Exit codes
                  0    all processes ended with 0
                  1    a process failed
                  2    the command line is wrong, nothing was started
                  130  ended by Ctrl-C (SIGINT)
                  143  ended by SIGTERM"""
                        .split("\n"));
    }
}
