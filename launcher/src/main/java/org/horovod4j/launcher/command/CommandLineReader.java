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
        Arguments given = Arguments.parse(Specification.toRead(), arguments);
        if (given.has(LauncherFlag.HELP)) {
            return new Invocation.Tell(Specification.toShow().getUsageMessage());
        }
        if (given.has(LauncherFlag.VERSION)) {
            return new Invocation.Tell(version());
        }
        Optional<String> shell = given.value(LauncherFlag.COMPLETION);
        if (shell.isPresent()) {
            return new Invocation.Tell(Completion.script(Specification.toShow(), shell.get()));
        }
        if (given.has(LauncherFlag.CHECK_BUILD)) {
            return new Invocation.CheckBuild(given.command());
        }
        return launch(given);
    }

    private Invocation.Launch launch(Arguments given) {
        LaunchRequest request =
                new LaunchRequest(
                        given,
                        given.value(LauncherFlag.CONFIG_FILE)
                                .map(file -> ConfigFile.read(Path.of(file)))
                                .orElse(ConfigFile.EMPTY),
                        given.value(LauncherFlag.JOB).map(file -> JobFile.read(Path.of(file))));
        Invocation.Launch launch = request.launch();
        tell(request, launch);
        return MainSwitch.kept(launch, new Environment(launch.over(environment)));
    }

    /// Says what has no effect, once all the rest is known to be right.
    private void tell(LaunchRequest request, Invocation.Launch launch) {
        Arguments given = request.given();
        for (HorovodFlag flag : HorovodFlag.all()) {
            if (given.hasWord(flag.word())) {
                notices.accept(flag.notice(flag.word()));
            }
        }
        if (given.has(LauncherFlag.DISABLE_CACHE)) {
            notices.accept("--disable-cache has no effect: nothing is cached.");
        }
        MainSwitch.tell(given, launch, new Environment(launch.over(environment)), notices);
        request.config().notices().forEach(notices);
        request.job()
                .ifPresent(
                        job -> {
                            job.notices().forEach(notices);
                            if (launch.reporting().verbose()) {
                                notices.accept(job.description());
                            }
                        });
        if (environment.containsKey(LSF_JOB) && !request.namesHosts()) {
            notices.accept(
                    "this is LSF job %s, but LSF and jsrun are not supported: all %d processes start on"
                                    .formatted(environment.get(LSF_JOB), launch.processes())
                            + " this machine. Name the hosts with -H.");
        }
    }

    private static String version() {
        return "horovodrun (Horovod4J) %s, on Java %s%n"
                .formatted(Version.own(), Runtime.version());
    }
}
