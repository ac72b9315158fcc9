package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.check.BuildReport;
import org.horovod4j.launcher.command.CommandLineReader;
import org.horovod4j.launcher.command.Controller;
import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.command.Version;
import org.horovod4j.launcher.output.Console;
import org.horovod4j.launcher.output.Forwarding;
import org.horovod4j.launcher.output.Progress;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.remote.RemoteJob;
import org.horovod4j.rendezvous.Attendance;
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

    private final Console console;
    private final Map<String, String> environment;

    HorovodRun(Console console, Map<String, String> environment) {
        this.console = console;
        this.environment = environment;
    }

    public static void main(String[] arguments) throws InterruptedException {
        Console console = Console.ofThisProcess();
        System.exit(new HorovodRun(console, System.getenv()).run(arguments));
    }

    /// Does what the arguments ask for, and gives the exit code.
    int run(String... arguments) throws InterruptedException {
        // Beside the reading of the command line, the longest part of the whole start.
        Soon<JobSettings> settings = Soon.of(() -> JobSettings.of(environment));
        try {
            return switch (new CommandLineReader(environment, console::say).read(arguments)) {
                case Invocation.Tell(String text) -> tell(text);
                case Invocation.CheckBuild(List<String> command) ->
                        tell(new BuildReport(environment).text(Version.own(), command));
                case Invocation.Launch launch ->
                        launch(
                                launch,
                                settings.get().with(launch.options()),
                                EarlyEnd.bySignal(),
                                (_, _) -> {});
            };
        } catch (ConfigurationException e) {
            console.say(String.valueOf(e.getMessage()));
            return USAGE;
        } catch (HostsNotReadyException e) {
            console.say(String.valueOf(e.getMessage()));
            return FAILURE;
        } catch (IOException e) {
            console.say("cannot start the job, all that was started is ended: " + e.getMessage());
            return FAILURE;
        }
    }

    private int tell(String text) {
        console.print(text);
        return 0;
    }

    /// Runs a job to its end, and gives the exit code.
    ///
    /// @param listener hears of each end of a rank, before the other ranks do
    /// @throws ConfigurationException when it cannot be launched; nothing was started
    int launch(
            Invocation.Launch launch,
            JobSettings settings,
            EarlyEnd earlyEnd,
            Job.ExitListener listener)
            throws IOException, InterruptedException {
        InheritedOptions.check(launch.over(environment));
        return switch (launch.controller()) {
            case Controller.Own() ->
                    launch.elasticity().isPresent()
                            ? new ElasticLaunch(
                                            console,
                                            launch,
                                            launch.elasticity().get(),
                                            settings,
                                            remoteJob(launch, settings),
                                            archives(launch, settings))
                                    .run(earlyEnd.interrupts())
                            : launchHere(launch, settings, earlyEnd, listener);
            case Controller.Mpi mpi ->
                    new MpiLaunch(console, environment)
                            .run(launch, mpi, settings, earlyEnd.interrupts());
        };
    }

    /// Runs the commands of a job, each once the one before has ended well everywhere.
    private int launchHere(
            Invocation.Launch launch,
            JobSettings settings,
            EarlyEnd earlyEnd,
            Job.ExitListener listener)
            throws IOException, InterruptedException {
        HostPlan plan = HostPlan.of(launch.hosts(), launch.processes());
        try (Hosts hosts =
                        Hosts.open(
                                used(launch.hosts(), plan),
                                remoteJob(launch, settings),
                                launch.commands(),
                                archives(launch, settings),
                                earlyEnd.whileStarting(),
                                console);
                Forwarding forwarding =
                        Forwarding.of(
                                console,
                                launch.reporting().folder(),
                                launch.reporting().timestamps(),
                                plan.slots().size())) {
            Soon<Interrupts> caught = Soon.of(earlyEnd.interrupts());
            Job job = new Job(plan, hosts, forwarding, launch.reporting().verbose());
            boolean well = true;
            for (int command = 0; well && command < launch.commands().size(); command++) {
                try (Progress progress = Progress.show(console, hostsOf(plan));
                        RendezvousServer rendezvous =
                                settings.openRendezvous(
                                        plan.slots().size(),
                                        hosts.anyRemote(),
                                        watching(progress, job))) {
                    MeetingPoint meetingPoint =
                            MeetingPoint.of(
                                    rendezvous.address().getPort(),
                                    hosts.anyRemote(),
                                    settings.networkInterfaces());
                    hosts.prepare(command, ranksHere(plan, hosts), caught.get().first());
                    job.start(command, new JobVariables(settings, meetingPoint, launch.options()));
                    caught.get().passOn(job::interrupt);
                    well = job.await(listener.before(telling(rendezvous)));
                    hosts.ended(command, well, caught.get().first());
                }
            }
            return job.conclude();
        }
    }

    private Optional<Archives> archives(Invocation.Launch launch, JobSettings settings) {
        return Archives.of(launch.over(environment), settings.mark());
    }

    private static int ranksHere(HostPlan plan, Hosts hosts) {
        return (int) plan.slots().stream().filter(slot -> !hosts.isRemote(slot.host())).count();
    }

    private RemoteJob remoteJob(Invocation.Launch launch, JobSettings settings) {
        return new RemoteJob(
                settings.mark(),
                settings.heartbeatTimeout(),
                settings.startTimeout(),
                Path.of("").toAbsolutePath(),
                launch.remoteSide().java(),
                launch.remoteSide().copies(),
                environment);
    }

    /// The hosts that get a rank at all.
    private static List<Host> used(List<Host> hosts, HostPlan plan) {
        Set<String> names = Set.copyOf(hostsOf(plan));
        return hosts.stream().filter(host -> names.contains(host.name())).toList();
    }

    /// The host of each rank.
    private static List<String> hostsOf(HostPlan plan) {
        return plan.slots().stream().map(Slot::host).collect(Collectors.toList());
    }

    private static Attendance watching(Progress progress, Job job) {
        return new Attendance() {
            @Override
            public void joined(int rank) {
                progress.joined(rank);
            }

            @Override
            public void failed(int rank, String reason) {
                job.blame(rank, reason);
            }
        };
    }

    private static Job.ExitListener telling(RendezvousServer rendezvous) {
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
