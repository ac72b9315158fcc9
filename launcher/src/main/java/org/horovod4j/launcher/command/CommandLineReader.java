package org.horovod4j.launcher.command;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.BindTo;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;

/// Reads the command line of `horovodrun` and the files that it names.
public final class CommandLineReader {
    private static final String LSF_JOB = "LSB_JOBID";

    private final Map<String, String> environment;
    private final Consumer<String> notices;

    /// Creates a reader of one command line.
    ///
    /// @param environment the environment of the launcher
    /// @param notices receives messages about flags that have no effect
    public CommandLineReader(Map<String, String> environment, Consumer<String> notices) {
        this.environment = environment;
        this.notices = notices;
    }

    /// Parses the arguments.
    ///
    /// @throws ConfigurationException if the arguments are invalid
    public Invocation read(String... arguments) {
        ParsedArguments parsed = ParsedArguments.parse(CommandLineSpec.forParsing(), arguments);
        if (parsed.has(LauncherFlag.HELP_ALL)) {
            return new Invocation.Print(CommandLineSpec.forHelp().getUsageMessage());
        }
        if (parsed.has(LauncherFlag.HELP)) {
            return new Invocation.Print(CommandLineSpec.forShortHelp().getUsageMessage());
        }
        if (parsed.has(LauncherFlag.VERSION)) {
            return new Invocation.Print(
                    "horovodrun (Horovod4J) %s, on Java %s%n"
                            .formatted(version(), Runtime.version()));
        }
        Optional<String> shell = parsed.value(LauncherFlag.COMPLETION);
        if (shell.isPresent()) {
            return new Invocation.Print(CommandLineSpec.completionScript(shell.get()));
        }
        if (parsed.has(LauncherFlag.CHECK_BUILD)) {
            return request(parsed).checkBuild();
        }
        return launch(request(parsed));
    }

    private static LaunchRequest request(ParsedArguments parsed) {
        return new LaunchRequest(
                parsed,
                parsed.value(LauncherFlag.CONFIG_FILE)
                        .map(file -> ConfigFile.read(Path.of(file)))
                        .orElse(ConfigFile.NONE),
                parsed.value(LauncherFlag.JOB)
                        .map(file -> JobFile.read(Path.of(file)))
                        .orElse(JobFile.NONE));
    }

    private Invocation.Launch launch(LaunchRequest request) {
        Invocation.Launch launch = request.launch(environment);
        reportIgnored(request, launch);
        return launch;
    }

    /// Reports flags without effect, after all other checks have passed.
    private void reportIgnored(LaunchRequest request, Invocation.Launch launch) {
        ParsedArguments parsed = request.arguments();
        for (IgnoredFlag flag : IgnoredFlag.all()) {
            if (parsed.hasFlag(flag.longName())) {
                notices.accept(flag.notice(flag.longName()));
            }
        }
        if (parsed.has(LauncherFlag.DISABLE_CACHE)) {
            notices.accept("--disable-cache has no effect: nothing is cached.");
        }
        Environment options = new Environment(launch.mergedWith(environment));
        FlagPrerequisite.reportIneffective(parsed, launch, options, notices);
        if (options.get(Options.BIND_TO) != BindTo.NONE) {
            reportUnbound(launch);
        }
        request.config().notices().forEach(notices);
        request.job().notices().forEach(notices);
        if (parsed.has(LauncherFlag.JOB) && parsed.has(LauncherFlag.VERBOSE)) {
            notices.accept(request.job().description());
        }
        if (environment.containsKey(LSF_JOB) && !request.hasHosts()) {
            notices.accept(
                    "this is LSF job %s, but LSF and jsrun are not supported: all %d processes start on"
                                    .formatted(environment.get(LSF_JOB), launch.processes())
                            + " this machine. Name the hosts with -H.");
        }
    }

    private void reportUnbound(Invocation.Launch launch) {
        if (launch.elasticity().isPresent()) {
            notices.accept(
                    "--bind-to has no effect in an elastic job: its processes on a host change.");
        } else if (launch.controller() instanceof Invocation.Controller.Mpi) {
            notices.accept("--bind-to has no effect with --mpi: use --binding-args.");
        }
    }

    /// The version of Horovod4J. The build writes it into a file, so that a checkout has it too.
    public static String version() {
        try (InputStream text = CommandLineReader.class.getResourceAsStream("version.txt")) {
            return new String(Objects.requireNonNull(text).readAllBytes(), UTF_8).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
