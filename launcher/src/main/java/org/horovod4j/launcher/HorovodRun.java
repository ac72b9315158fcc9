package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.mpi.MpiJob;
import org.horovod4j.launcher.mpi.MpiRun;
import org.horovod4j.launcher.output.Console;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.JavaHome;
import org.horovod4j.launcher.process.LocalHost;
import org.horovod4j.launcher.process.Program;
import org.horovod4j.launcher.process.SearchPath;
import org.horovod4j.option.Environment;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.rendezvous.RendezvousServer;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
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
                case Invocation.Launch launch ->
                        switch (launch.controller()) {
                            case Controller.Own() -> launch(launch, settings);
                            case Controller.Mpi mpi -> launchByMpi(launch, mpi, settings);
                        };
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
        Program program =
                Program.of(
                        launch.commands().getFirst(),
                        SearchPath.of(environment.getOrDefault("PATH", "")),
                        JavaHome.own());

        Soon<Interrupts> interrupts = Soon.of(Interrupts::caught);
        JobSettings settings = soon.get().with(launch.options());
        try (RendezvousServer rendezvous = settings.openRendezvous(plan.slots().size());
                HostAgent host = LocalHost.open(settings.mark())) {
            Job job =
                    new Job(
                            program,
                            host,
                            rendezvous::reportExit,
                            console,
                            launch.reporting().verbose());
            interrupts.get().passOn(job::interrupt);
            job.start(plan, new JobVariables(settings, rendezvous.address(), launch.options()));
            return job.await();
        }
    }

    private int launchByMpi(Invocation.Launch launch, Controller.Mpi mpi, Soon<JobSettings> soon)
            throws IOException, InterruptedException {
        HostPlan.of(launch.hosts(), launch.processes()); // or there are too few slots
        Map<String, String> variables = new HashMap<>(environment);
        variables.putAll(launch.options());
        JobSettings settings = soon.get().with(launch.options());
        MpiRun run =
                new MpiRun(
                        console,
                        launch.reporting().verbose(),
                        variables,
                        settings.id(),
                        settings.secret(),
                        settings.heartbeatTimeout(),
                        settings.startTimeout());
        Interrupts.caught().passOn(run::interrupt);
        return run.run(
                new MpiJob(
                        launch.processes(),
                        launch.hosts(),
                        launch.commands().stream()
                                .map(command -> words(command, launch.remoteSide()))
                                .toList(),
                        mpi.arguments(),
                        mpi.bindingArguments(),
                        mpi.tcpOnly(),
                        WorkerSettings.interfaces(new Environment(variables)),
                        launch.reporting().folder(),
                        launch.reporting().timestamps()));
    }

    /// The same words for all hosts, as `mpirun` takes one command line.
    private List<String> words(List<String> command, RemoteSide remoteSide) {
        if (!remoteSide.copies().isEmpty()) {
            throw new ConfigurationException(
                    "--mpi: mpirun copies no files to other hosts. Put them where all hosts find them"
                            + " under one path, and leave the copying out.");
        }
        List<String> words = new ArrayList<>(command);
        String java = remoteSide.java();
        if (java != null && words.getFirst().equals("java")) {
            words.set(0, java);
        }
        return Program.of(
                        words, SearchPath.of(environment.getOrDefault("PATH", "")), JavaHome.own())
                .command();
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
