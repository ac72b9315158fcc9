package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.check.BuildReport;
import org.horovod4j.launcher.command.CommandLineReader;
import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.command.Invocation.Controller;
import org.horovod4j.launcher.command.Invocation.GpuDemand;
import org.horovod4j.launcher.command.Invocation.OutputSettings;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.launcher.remote.HostNotReadyException;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/// The command `horovodrun`.
///
/// Mistakes in the command line are found before anything is started.
public final class HorovodRun {
    /// Exit code when the job failed.
    static final int FAILURE = 1;

    /// Exit code when the command line is wrong.
    static final int USAGE = 2;

    private final LauncherConsole launcherConsole;
    private final Map<String, String> environment;

    HorovodRun(LauncherConsole launcherConsole, Map<String, String> environment) {
        this.launcherConsole = launcherConsole;
        this.environment = environment;
    }

    public static void main(String[] arguments) throws InterruptedException {
        LauncherConsole launcherConsole = LauncherConsole.ofThisProcess();
        System.exit(new HorovodRun(launcherConsole, System.getenv()).run(arguments));
    }

    /// Does what the arguments say, and returns the exit code.
    int run(String... arguments) throws InterruptedException {
        // Made while the command line is read, which takes longest of the whole start.
        AsyncValue<JobSettings> settings = AsyncValue.of(() -> JobSettings.of(environment));
        try {
            return switch (new CommandLineReader(environment, launcherConsole::printMessage)
                    .read(arguments)) {
                case Invocation.Print(String text) -> print(text);
                case Invocation.CheckBuild check ->
                        print(
                                new BuildReport(environment)
                                        .text(
                                                CommandLineReader.version(),
                                                check.command(),
                                                examine(check, settings.get())));
                case Invocation.Launch launch ->
                        launch(
                                launch,
                                settings.get().with(launch.mergedWith(environment)),
                                TerminationSignals.Cancellation.bySignal(),
                                (_, _) -> {});
            };
        } catch (ConfigurationException e) {
            launcherConsole.printMessage(String.valueOf(e.getMessage()));
            return USAGE;
        } catch (Hosts.NotReadyException e) {
            launcherConsole.printMessage(e.summary() + ".");
            return FAILURE;
        } catch (IOException e) {
            launcherConsole.printMessage(
                    "cannot start the job, all that was started is ended: " + e.getMessage());
            return FAILURE;
        }
    }

    /// Logs in to the hosts and asks what they have.
    private List<BuildReport.HostState> examine(Invocation.CheckBuild check, JobSettings settings)
            throws IOException, InterruptedException {
        Invocation.Launch nothing =
                new Invocation.Launch(
                        1,
                        check.hosts(),
                        new Controller.BuiltIn(),
                        check.remoteSetup(),
                        new OutputSettings(false, null, false),
                        Map.of(),
                        List.of(),
                        Optional.empty(),
                        GpuDemand.NONE);
        try (Hosts hosts =
                new LaunchContext(launcherConsole, nothing, settings, environment)
                        .newHosts(new CompletableFuture<>())) {
            return ParallelTasks.map(check.hosts(), host -> examine(host, hosts));
        }
    }

    private static BuildReport.HostState examine(Host host, Hosts hosts) {
        try {
            return new BuildReport.HostState(host.name(), hosts.add(host).machine(), "");
        } catch (HostNotReadyException | IOException | ConfigurationException e) {
            return new BuildReport.HostState(host.name(), null, String.valueOf(e.getMessage()));
        }
    }

    private int print(String text) {
        launcherConsole.print(text);
        return 0;
    }

    /// Runs a job to its end, and returns the exit code.
    ///
    /// @param exitListener for fixed jobs that the launcher starts itself
    /// @throws ConfigurationException when the job cannot be launched; nothing was started
    int launch(
            Invocation.Launch launch,
            JobSettings settings,
            TerminationSignals.Cancellation cancellation,
            FixedLaunch.ExitListener exitListener)
            throws IOException, InterruptedException {
        LaunchContext.checkOptions(launch.mergedWith(environment));
        if (launch.outputSettings().timestamps()) {
            launcherConsole.useTimestamps();
        }
        LaunchContext context = new LaunchContext(launcherConsole, launch, settings, environment);
        return switch (launch.controller()) {
            case Controller.BuiltIn() when launch.elasticity().isPresent() ->
                    new ElasticLaunch(context, launch.elasticity().get())
                            .run(cancellation.signals());
            case Controller.BuiltIn() -> new FixedLaunch(context, exitListener).run(cancellation);
            case Controller.Spark spark ->
                    new SparkLaunch(context, spark).run(cancellation.signals());
            case Controller.Mpi mpi -> MpiLaunch.run(context, mpi, cancellation.signals());
        };
    }
}
