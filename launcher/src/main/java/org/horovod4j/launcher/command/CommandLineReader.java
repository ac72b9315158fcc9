package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.Environment;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/// Reads the command line of `horovodrun`, and the files that it names.
public final class CommandLineReader {
    private static final String LSF_JOB = "LSB_JOBID";

    private final Map<String, String> environment;
    private final Consumer<String> notices;

    /// A reader of one command line.
    ///
    /// @param environment of the launcher
    /// @param notices hears what the user should know of flags that are accepted without effect
    public CommandLineReader(Map<String, String> environment, Consumer<String> notices) {
        this.environment = environment;
        this.notices = notices;
    }

    /// What these words ask for.
    ///
    /// @throws ConfigurationException when the arguments make no sense
    public Invocation read(String... arguments) {
        ParsedArguments given = ParsedArguments.parse(CommandLineSpec.forParsing(), arguments);
        if (given.has(LauncherFlag.HELP)) {
            return new Invocation.Print(CommandLineSpec.forHelp().getUsageMessage());
        }
        if (given.has(LauncherFlag.VERSION)) {
            return new Invocation.Print(version());
        }
        Optional<String> shell = given.value(LauncherFlag.COMPLETION);
        if (shell.isPresent()) {
            return new Invocation.Print(
                    ShellCompletion.script(CommandLineSpec.forHelp(), shell.get()));
        }
        if (given.has(LauncherFlag.CHECK_BUILD)) {
            return new Invocation.CheckBuild(given.command());
        }
        return launch(given);
    }

    private Invocation.Launch launch(ParsedArguments given) {
        LaunchRequest request =
                new LaunchRequest(
                        given,
                        given.value(LauncherFlag.CONFIG_FILE)
                                .map(file -> ConfigFile.read(Path.of(file)))
                                .orElse(ConfigFile.EMPTY),
                        given.value(LauncherFlag.JOB).map(file -> JobFile.read(Path.of(file))));
        Invocation.Launch launch = request.launch();
        reportIgnored(request, launch);
        return FlagPrerequisite.withoutIneffective(
                launch, new Environment(launch.mergedWith(environment)));
    }

    /// Says what has no effect, once all the rest is known to be right.
    private void reportIgnored(LaunchRequest request, Invocation.Launch launch) {
        ParsedArguments given = request.arguments();
        for (IgnoredFlag flag : IgnoredFlag.all()) {
            if (given.hasFlag(flag.longName())) {
                notices.accept(flag.notice(flag.longName()));
            }
        }
        if (given.has(LauncherFlag.DISABLE_CACHE)) {
            notices.accept("--disable-cache has no effect: nothing is cached.");
        }
        FlagPrerequisite.reportIneffective(
                given, launch, new Environment(launch.mergedWith(environment)), notices);
        request.config().notices().forEach(notices);
        request.job()
                .ifPresent(
                        job -> {
                            job.notices().forEach(notices);
                            if (launch.outputSettings().verbose()) {
                                notices.accept(job.description());
                            }
                        });
        if (environment.containsKey(LSF_JOB) && !request.hasHosts()) {
            notices.accept(
                    "this is LSF job %s, but LSF and jsrun are not supported: all %d processes start on"
                                    .formatted(environment.get(LSF_JOB), launch.processes())
                            + " this machine. Name the hosts with -H.");
        }
    }

    private static String version() {
        return "horovodrun (Horovod4J) %s, on Java %s%n"
                .formatted(Version.current(), Runtime.version());
    }
}
