package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.check.BuildReport;
import org.horovod4j.launcher.command.CommandLineReader;
import org.horovod4j.launcher.command.Controller;
import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.command.Version;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.output.OutputTargets;
import org.horovod4j.launcher.output.StartupProgress;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.remote.RemoteHostSettings;
import org.horovod4j.rendezvous.MembershipListener;
import org.horovod4j.rendezvous.RendezvousServer;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/// The command `horovodrun`.
///
/// All that can be wrong with the command line is found before anything is started.
public final class HorovodRun {
    /// Exit codes for a job that went wrong and for a command line that makes no sense.
    static final int FAILURE = 1;

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

    /// Does what the arguments ask for, and gives the exit code.
    int run(String... arguments) throws InterruptedException {
        // Beside the reading of the command line, the longest part of the whole start.
        AsyncValue<JobSettings> settings = AsyncValue.of(() -> JobSettings.of(environment));
        try {
            return switch (new CommandLineReader(environment, launcherConsole::printMessage)
                    .read(arguments)) {
                case Invocation.Print(String text) -> print(text);
                case Invocation.CheckBuild(List<String> command) ->
                        print(new BuildReport(environment).text(Version.current(), command));
                case Invocation.Launch launch ->
                        launch(
                                launch,
                                settings.get().with(launch.options()),
                                JobCancellation.bySignal(),
                                (_, _) -> {});
            };
        } catch (ConfigurationException e) {
            launcherConsole.printMessage(String.valueOf(e.getMessage()));
            return USAGE;
        } catch (HostsNotReadyException e) {
            launcherConsole.printMessage(String.valueOf(e.getMessage()));
            return FAILURE;
        } catch (IOException e) {
            launcherConsole.printMessage(
                    "cannot start the job, all that was started is ended: " + e.getMessage());
            return FAILURE;
        }
    }

    private int print(String text) {
        launcherConsole.print(text);
        return 0;
    }

    /// Runs a job to its end, and gives the exit code.
    ///
    /// @param listener hears of each end of a rank, before the other ranks do
    /// @throws ConfigurationException when it cannot be launched; nothing was started
    int launch(
            Invocation.Launch launch,
            JobSettings settings,
            JobCancellation jobCancellation,
            Job.ExitListener listener)
            throws IOException, InterruptedException {
        InheritedOptions.check(launch.mergedWith(environment));
        return switch (launch.controller()) {
            case Controller.BuiltIn() ->
                    launch.elasticity().isPresent()
                            ? new ElasticLaunch(
                                            launcherConsole,
                                            launch,
                                            launch.elasticity().get(),
                                            settings,
                                            remoteJob(launch, settings),
                                            archives(launch, settings))
                                    .run(jobCancellation.signals())
                            : launchStatic(launch, settings, jobCancellation, listener);
            case Controller.Mpi mpi ->
                    new MpiLaunch(launcherConsole, environment)
                            .run(launch, mpi, settings, jobCancellation.signals());
        };
    }

    /// Runs the commands of a job, each once the one before has ended well everywhere.
    private int launchStatic(
            Invocation.Launch launch,
            JobSettings settings,
            JobCancellation jobCancellation,
            Job.ExitListener listener)
            throws IOException, InterruptedException {
        HostPlan plan = HostPlan.of(launch.hosts(), launch.processes());
        try (Hosts hosts =
                        Hosts.open(
                                usedHosts(launch.hosts(), plan),
                                remoteJob(launch, settings),
                                launch.commands(),
                                archives(launch, settings),
                                jobCancellation.whileStarting(),
                                launcherConsole);
                OutputTargets outputTargets =
                        OutputTargets.of(
                                launcherConsole,
                                launch.outputSettings().folder(),
                                launch.outputSettings().timestamps(),
                                plan.slots().size())) {
            AsyncValue<TerminationSignals> caught = AsyncValue.of(jobCancellation.signals());
            Job job = new Job(plan, hosts, outputTargets, launch.outputSettings().verbose());
            boolean well = true;
            for (int command = 0; well && command < launch.commands().size(); command++) {
                try (StartupProgress startupProgress =
                                StartupProgress.show(launcherConsole, hostsOf(plan));
                        RendezvousServer rendezvous =
                                settings.openRendezvous(
                                        plan.slots().size(),
                                        hosts.anyRemote(),
                                        membershipListener(startupProgress, job))) {
                    LauncherAddress launcherAddress =
                            LauncherAddress.of(
                                    rendezvous.address().getPort(),
                                    hosts.anyRemote(),
                                    settings.networkInterfaces());
                    hosts.prepare(command, localRanks(plan, hosts), caught.get().firstSignal());
                    job.start(
                            command, new JobVariables(settings, launcherAddress, launch.options()));
                    caught.get().forwardTo(job::interrupt);
                    well = job.await(listener.before(rendezvousReporter(rendezvous)));
                    hosts.ended(command, well, caught.get().firstSignal());
                }
            }
            return job.conclude();
        }
    }

    private Optional<ClassArchives> archives(Invocation.Launch launch, JobSettings settings) {
        return ClassArchives.of(launch.mergedWith(environment), settings.jobVariable());
    }

    private static int localRanks(HostPlan plan, Hosts hosts) {
        return (int) plan.slots().stream().filter(slot -> !hosts.isRemote(slot.host())).count();
    }

    private RemoteHostSettings remoteJob(Invocation.Launch launch, JobSettings settings) {
        return new RemoteHostSettings(
                settings.jobVariable(),
                settings.heartbeatTimeout(),
                settings.startTimeout(),
                Path.of("").toAbsolutePath(),
                launch.remoteSetup().java(),
                launch.remoteSetup().copies(),
                environment);
    }

    /// The hosts that get a rank at all.
    private static List<Host> usedHosts(List<Host> hosts, HostPlan plan) {
        Set<String> names = Set.copyOf(hostsOf(plan));
        return hosts.stream().filter(host -> names.contains(host.name())).toList();
    }

    /// The host of each rank.
    private static List<String> hostsOf(HostPlan plan) {
        return plan.slots().stream().map(Slot::host).collect(Collectors.toList());
    }

    private static MembershipListener membershipListener(StartupProgress startupProgress, Job job) {
        return new MembershipListener() {
            @Override
            public void joined(int rank) {
                startupProgress.joined(rank);
            }

            @Override
            public void failed(int rank, String reason) {
                job.blame(rank, reason);
            }
        };
    }

    private static Job.ExitListener rendezvousReporter(RendezvousServer rendezvous) {
        return new Job.ExitListener() {
            @Override
            public void exited(int rank, String how) {
                rendezvous.reportExit(rank, how);
            }

            @Override
            public void lost(int rank, String how) {
                rendezvous.reportLoss(rank, how);
            }
        };
    }
}
