package org.horovod4j.launcher;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.Invocation.Controller;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.horovod4j.launcher.output.OutputSource;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.JavaHome;
import org.horovod4j.launcher.process.LocalHost;
import org.horovod4j.launcher.process.OutputReader;
import org.horovod4j.launcher.process.SearchPath;
import org.horovod4j.launcher.process.Signal;
import org.horovod4j.option.Options;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/// Submits a program to Spark, by `spark-submit`. The program starts its ranks by `HvdSpark`.
final class SparkLaunch {
    private static final String COMMAND = "spark-submit";
    private static final String SPARK_HOME = "SPARK_HOME";
    private static final String JAVA_HOME = "JAVA_HOME";

    /// How long a driver may take to stop its application before it is killed.
    private static final Duration GRACE_PERIOD = Duration.ofSeconds(10);

    private final LaunchContext context;
    private final SparkSubmitCommand command;
    private volatile @Nullable Signal interruption;
    private volatile @Nullable HostAgent running;

    SparkLaunch(LaunchContext context, Controller.Spark spark) {
        this.context = context;
        this.command = new SparkSubmitCommand(context.launch(), spark);
    }

    /// Submits the programs of the job, each after the one before has succeeded.
    ///
    /// @return the exit code of `spark-submit`, or of the signal that ended it
    /// @throws ConfigurationException if there is no `spark-submit`, or no such program
    int run(Callable<TerminationSignals> install) throws IOException, InterruptedException {
        Map<String, String> variables = context.launch().mergedWith(context.environment());
        Path submit = find(variables);
        Path file = write(command.properties());
        try {
            List<List<String>> commands = new ArrayList<>();
            for (List<String> program : context.launch().commands()) {
                commands.add(command.words(submit, file, program));
            }
            AsyncValue.of(install).get().forwardTo(this::interrupt);
            int code = 0;
            for (List<String> words : commands) {
                if (code == 0 && interruption == null) {
                    code = run(words, variables);
                }
            }
            Signal signal = interruption;
            return signal == null ? code : 128 + signal.number();
        } finally {
            Files.deleteIfExists(file);
        }
    }

    /// That of `SPARK_HOME`, else the one on the path.
    private static Path find(Map<String, String> variables) {
        String home = variables.getOrDefault(SPARK_HOME, "");
        if (!home.isEmpty()) {
            Path submit = Path.of(home, "bin", COMMAND);
            if (!Files.isExecutable(submit)) {
                throw new ConfigurationException(
                        "engine: spark: %s is '%s', which has no bin/%s. Set it to the folder of a Spark installation."
                                .formatted(SPARK_HOME, home, COMMAND));
            }
            return submit;
        }
        return SearchPath.of(variables.getOrDefault("PATH", ""))
                .lookUp(COMMAND)
                .orElseThrow(
                        () ->
                                new ConfigurationException(
                                        "engine: spark: there is no %s on the PATH, and %s is not set. Install Spark 4.2, and set it to its folder."
                                                .formatted(COMMAND, SPARK_HOME)));
    }

    /// Properties may be secret, and every user of the machine can read a command line.
    private static Path write(Map<String, String> values) throws IOException {
        Path file = Files.createTempFile("horovodrun-spark-", ".conf"); // of this user alone
        Properties properties = new Properties();
        properties.putAll(values);
        try (Writer out = Files.newBufferedWriter(file, UTF_8)) {
            properties.store(out, null);
        }
        return file;
    }

    private int run(List<String> words, Map<String, String> variables)
            throws IOException, InterruptedException {
        LauncherConsole console = context.launcherConsole();
        if (context.verbose()) {
            console.printMessage(String.join(" ", words));
        }
        variables.put(Options.JOB_ID.variable(), context.settings().id());
        variables.putIfAbsent(JAVA_HOME, JavaHome.current().folder().toString());
        try (HostAgent agent = LocalHost.open(context.settings().jobVariable())) {
            Process process = agent.start(words, variables);
            running = agent;
            Signal early = interruption;
            if (early != null) { // received while it was being started
                agent.signal(early);
            }
            OutputSource source = OutputSource.ofPrefixed(COMMAND, console);
            OutputReader out =
                    source.forward(StandardStream.STDOUT, process.getInputStream(), _ -> true);
            OutputReader err =
                    source.forward(StandardStream.STDERR, process.getErrorStream(), _ -> true);
            int code = process.waitFor();
            running = null;
            agent.ended(process);
            for (String left : agent.sweep()) {
                if (context.verbose()) {
                    console.printMessage("ended a process that the job had left behind: " + left);
                }
            }
            long beginNanos = System.nanoTime();
            boolean _ = out.awaitEnd(OutputReader.IDLE_TIMEOUT, beginNanos);
            boolean _ = err.awaitEnd(OutputReader.IDLE_TIMEOUT, beginNanos);
            if (code != 0 && interruption == null) {
                console.printMessage("%s ended with exit code %d".formatted(COMMAND, code));
            }
            return code;
        }
    }

    /// Forwards a signal to `spark-submit`. It is killed if it does not end within the grace period, or
    /// at once at a second signal. With `deploy_mode: client` it has the driver, which stops the
    /// application; a driver in the cluster continues.
    private void interrupt(Signal signal) {
        boolean again = interruption != null;
        interruption = signal;
        HostAgent agent = running;
        if (agent != null) {
            agent.signal(again ? Signal.KILL : signal);
            CompletableFuture.delayedExecutor(GRACE_PERIOD.toMillis(), TimeUnit.MILLISECONDS)
                    .execute(
                            () -> {
                                if (agent.equals(running)) {
                                    agent.signal(Signal.KILL);
                                }
                            });
        }
    }
}
