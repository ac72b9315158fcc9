package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.Flag;
import org.horovod4j.option.SpellingSuggestion;

import picocli.CommandLine;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/// The arguments of a command line, separated into flags and the command. Values are not
/// interpreted here.
final class ParsedArguments {
    /// The prefix of all flags. It says nothing about a misspelt one.
    private static final int DASHES = 2;

    private final ParseResult parsed;
    private final Map<LauncherFlag, List<String>> defaults;

    private ParsedArguments(ParseResult parsed, Map<LauncherFlag, List<String>> defaults) {
        this.parsed = parsed;
        this.defaults = defaults;
    }

    /// @throws ConfigurationException for unknown flags, or flags without their values
    static ParsedArguments parse(CommandLine commandLine, String... words) {
        try {
            return new ParsedArguments(commandLine.parseArgs(words), Map.of());
        } catch (UnmatchedArgumentException e) {
            throw new ConfigurationException(unknown(e), e);
        } catch (MissingParameterException e) {
            throw new ConfigurationException(
                    "%s needs a value. See horovodrun --help-all."
                            .formatted(name(e.getMissing().getFirst())),
                    e);
        } catch (ParameterException e) {
            throw new ConfigurationException(e.getMessage() + ". See horovodrun --help-all.", e);
        }
    }

    private static String name(ArgSpec argument) {
        return argument instanceof OptionSpec option ? option.names()[0] : argument.paramLabel();
    }

    private static String unknown(UnmatchedArgumentException e) {
        String option = e.getUnmatched().getFirst().replaceFirst("=.*", "");
        List<String> known =
                e.getCommandLine().getCommandSpec().options().stream()
                        .flatMap(spec -> Stream.of(spec.names()))
                        .toList();
        return "unknown option '%s'.%s Options of the program come after it; see horovodrun --help-all."
                .formatted(option, SpellingSuggestion.question(option, known, DASHES));
    }

    /// The same arguments, with values for flags that are not given.
    ParsedArguments withDefaults(Map<LauncherFlag, List<String>> values) {
        return new ParsedArguments(parsed, values);
    }

    /// Whether a flag was given.
    boolean has(LauncherFlag flag) {
        return hasFlag(flag.toString());
    }

    /// Whether a flag was given, with any of its names.
    boolean hasFlag(String word) {
        return parsed.hasMatchedOption(word);
    }

    /// The value of a flag, given or by default.
    Optional<String> value(LauncherFlag flag) {
        String given = parsed.matchedOptionValue(flag.toString(), (String) null);
        return Optional.ofNullable(given)
                .or(() -> defaults.getOrDefault(flag, List.of()).stream().findFirst());
    }

    /// The values of a flag that may have several, given or by default.
    List<String> values(LauncherFlag flag) {
        return parsed.matchedOptionValue(flag.toString(), defaults.getOrDefault(flag, List.of()));
    }

    /// The value of a flag; empty for a flag without a value.
    String value(OptionFlag flag) {
        return switch (flag.flag()) {
            case Flag.Switch _ -> "";
            case Flag.Valued _ -> parsed.matchedOptionValue(flag.longName(), "");
        };
    }

    /// The program and its arguments; empty if there is none.
    List<String> command() {
        return parsed.matchedPositionalValue(0, List.of());
    }
}
