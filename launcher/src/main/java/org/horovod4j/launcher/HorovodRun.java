package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.output.Console;
import org.horovod4j.launcher.output.Forwarding;
import org.horovod4j.launcher.output.Progress;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.JavaHome;
import org.horovod4j.launcher.process.LocalHost;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.SearchPath;
import org.horovod4j.rendezvous.RendezvousServer;

import java.io.IOException;
import java.util.List;
import java.util.Map;

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
            return switch (new CommandLineReader().read(arguments)) {
                case Invocation.Tell(String text) -> tell(text);
                case Invocation.Launch launch -> launch(launch, settings);
            };
        } catch (ConfigurationException e) {
            console.say(String.valueOf(e.getMessage()));
            return USAGE;
        } catch (IOException e) {
            console.say("cannot start the job, all that was started is ended: " + e.getMessage());
            return FAILURE;
        }
    }

    private int tell(String text) {
        console.print(text);
        return 0;
    }

    private int launch(Invocation.Launch launch, Soon<JobSettings> soon)
            throws IOException, InterruptedException {
        HostPlan plan = HostPlan.of(launch.hosts(), launch.processes());
        requireLocal(launch.hosts());
        SearchPath path = SearchPath.of(environment.getOrDefault("PATH", ""));
        Program plain = Program.of(launch.commands().getFirst(), path, JavaHome.own());
        Program program =
                ArchiveFolder.of(environment, launch.options())
                        .map(folder -> plain.archived(path, folder))
                        .orElse(plain);

        Soon<Interrupts> interrupts = Soon.of(Interrupts::caught);
        JobSettings settings = soon.get().with(launch.options());
        Forwarding forwarding =
                Forwarding.of(
                        console,
                        launch.reporting().folder(),
                        launch.reporting().timestamps(),
                        plan.slots().size());
        try (Progress progress =
                        Progress.show(console, plan.slots().stream().map(Slot::host).toList());
                RendezvousServer rendezvous =
                        settings.openRendezvous(plan.slots().size(), progress::joined);
                HostAgent host = LocalHost.open(settings.mark())) {
            Job job =
                    new Job(
                            program,
                            host,
                            rendezvous::reportExit,
                            forwarding,
                            launch.reporting().verbose());
            interrupts.get().passOn(job::interrupt);
            job.start(plan, new JobVariables(settings, rendezvous.address(), launch.options()));
            int exitCode = job.await();
            program.ended(exitCode == 0);
            return exitCode;
        }
    }

    private static void requireLocal(List<Host> hosts) {
        for (Host host : hosts) {
            if (!LocalHost.isNamed(host.name())) {
                throw new ConfigurationException(
                        "-H: '%s' is not this machine. Remote hosts come later. Try localhost:%d."
                                .formatted(host.name(), host.slots()));
            }
        }
    }
}
