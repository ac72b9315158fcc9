package org.horovod4j.launcher.mpi;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.output.LauncherConsole.StandardStream;
import org.horovod4j.launcher.output.OutputSource;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.LocalHost;
import org.horovod4j.launcher.process.OutputReader;
import org.horovod4j.launcher.process.SearchPath;
import org.horovod4j.launcher.process.Signal;
import org.horovod4j.network.LocalAddresses;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.text.DurationFormat;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/// Runs a job with `mpirun`, which places and starts the processes, tags their output and ends them
/// all when one fails. The launcher runs the rendezvous server. It ends `mpirun` and any processes
/// left on this machine, even if the launcher itself is killed.
///
/// The ranks get their numbers from variables that `mpirun` sets. They exchange data over
/// Horovod4J's own transports, not over MPI.
public final class MpiRunner {
    /// How long `mpirun` may take to end its processes before it is killed.
    private static final Duration GRACE_PERIOD = Duration.ofSeconds(5);

    /// After a signal from the user, an `mpirun` that runs longer than this is reported. Open MPI
    /// always takes one second: it then kills what is left of the ranks.
    private static final Duration SLOW_END = Duration.ofSeconds(3);

    private static final int FAILURE = 1;

    private final LauncherConsole launcherConsole;
    private final boolean verbose;
    private final Map<String, String> environment;
    private final JobSettings settings;
    private volatile @Nullable Signal interruption;
    private volatile @Nullable HostAgent host;
    private volatile @Nullable RendezvousServer server;
    private volatile long interruptedNanos;

    /// @param verbose whether to print the command line
    /// @param environment the environment of the launcher, with the variables from flags
    public MpiRunner(
            LauncherConsole launcherConsole,
            boolean verbose,
            Map<String, String> environment,
            JobSettings settings) {
        this.launcherConsole = launcherConsole;
        this.verbose = verbose;
        this.environment = Map.copyOf(environment);
        this.settings = settings;
    }

    /// Runs the programs of the job until one fails.
    ///
    /// If a rank has not started within the start timeout, `mpirun` is ended. A rank that has
    /// started may join the others at any later time, or never.
    ///
    /// @return the exit code of `mpirun`, or of the signal that ended it; 1 after a start timeout
    /// @throws ConfigurationException if there is no `mpirun` that supports what the job needs
    public int run(MpiJob job) throws IOException, InterruptedException {
        MpiKind kind = MpiKind.find(SearchPath.of(environment.getOrDefault("PATH", "")));
        LocalAddresses addresses = addresses(job);
        int code = 0;
        for (List<String> program : job.programs()) {
            if (code == 0 && interruption == null) {
                code = run(kind, job, program, addresses);
            }
        }
        Signal signal = interruption;
        if (signal == null) {
            return code;
        }
        Duration elapsed = Duration.ofNanos(System.nanoTime() - interruptedNanos);
        launcherConsole.printMessage(
                "ended by %s after %s".formatted(signal, DurationFormat.roundedSeconds(elapsed)));
        return 128 + signal.number();
    }

    /// Forwards a signal of the launcher to `mpirun`, which is killed if it does not end within the
    /// grace period, or at once at a second signal. May be called from any thread.
    public void interrupt(Signal signal) {
        boolean again = interruption != null;
        if (!again) {
            interruptedNanos = System.nanoTime();
        }
        interruption = signal;
        RendezvousServer serving = server;
        if (serving != null) {
            serving.jobIsEnding();
        }
        HostAgent started = host;
        if (started != null) {
            end(started, again ? Signal.KILL : signal);
            CompletableFuture.delayedExecutor(SLOW_END.toMillis(), TimeUnit.MILLISECONDS)
                    .execute(() -> reportSlowEnd(started, signal));
        }
    }

    /// `mpirun` normally ends sooner, and the last message says so.
    private void reportSlowEnd(HostAgent started, Signal signal) {
        if (started.equals(host)) {
            launcherConsole.printMessage(
                    "got %s, waiting for mpirun to end; a second signal kills it"
                            .formatted(signal));
        }
    }

    private void end(HostAgent started, Signal signal) {
        started.signal(signal);
        CompletableFuture.delayedExecutor(GRACE_PERIOD.toMillis(), TimeUnit.MILLISECONDS)
                .execute(() -> kill(started));
    }

    private void kill(HostAgent started) {
        if (started.equals(host)) {
            started.signal(Signal.KILL);
        }
    }

    private int run(MpiKind kind, MpiJob job, List<String> program, LocalAddresses addresses)
            throws IOException, InterruptedException {
        MpiRanks ranks = new MpiRanks(job.processes());
        try (RendezvousServer rendezvous =
                        RendezvousServer.start(
                                settings.secret(),
                                job.processes(),
                                addresses.bindAddresses(0),
                                settings.heartbeatTimeout(),
                                settings.startTimeout(),
                                ranks);
                HostAgent agent = LocalHost.open(settings.jobVariable())) {
            server = rendezvous;
            Map<String, String> variables = variables(addresses, rendezvous.address().getPort());
            MpiCommand command =
                    MpiCommand.of(kind, job, ExportedVariables.names(environment, variables));
            List<String> words = new ArrayList<>(command.commandLine());
            words.addAll(MpiLine.withStartLine(program));
            if (verbose) {
                launcherConsole.printMessage("%s: %s".formatted(kind, String.join(" ", words)));
            }
            Map<String, String> all = new LinkedHashMap<>(environment);
            all.putAll(variables);
            all.putAll(command.variables());
            // An agent can add variables but not remove any; empty ones count as not set.
            ExportedVariables.RANK_VARIABLES.forEach(option -> all.put(option.variable(), ""));
            return await(agent, agent.start(words, all), ranks);
        }
    }

    private int await(HostAgent agent, Process process, MpiRanks ranks)
            throws InterruptedException {
        host = agent;
        Signal early = interruption;
        if (early != null) { // received while mpirun was being started
            agent.signal(early);
        }
        OutputSource mpirun = OutputSource.ofPrefixed("mpirun", launcherConsole);
        OutputReader output =
                mpirun.forward(
                        StandardStream.STDOUT,
                        process.getInputStream(),
                        line -> ranks.onLine(StandardStream.STDOUT, line, interruption != null));
        OutputReader errors =
                mpirun.forward(
                        StandardStream.STDERR,
                        process.getErrorStream(),
                        line -> ranks.onLine(StandardStream.STDERR, line, interruption != null));
        boolean inTime = process.waitFor(settings.startTimeout().toMillis(), TimeUnit.MILLISECONDS);
        int missing = inTime || interruption != null ? 0 : ranks.missing();
        boolean late = missing > 0;
        if (late) {
            end(agent, Signal.TERM);
        }
        int code = process.waitFor();
        Duration others = ranks.sinceFailure();
        host = null;
        agent.ended(process);
        for (String left : agent.sweep()) {
            if (verbose
                    || (interruption == null
                            && !late)) { // after a signal, ranks may end a moment later
                launcherConsole.printMessage(
                        "ended a process that the job had left behind: " + left);
            }
        }
        long beginNanos = System.nanoTime();
        boolean _ = output.awaitEnd(OutputReader.IDLE_TIMEOUT, beginNanos);
        boolean _ = errors.awaitEnd(OutputReader.IDLE_TIMEOUT, beginNanos);
        if (late) {
            launcherConsole.printMessage(
                    """
                    %d of %d ranks had not started within the start timeout of %s s, so mpirun was ended
                    Run mpirun by itself, with 'hostname' for the program: it may wait for a password, for a host that \
                    does not answer, or for one that does not find this machine by its name. Raise --start-timeout if it \
                    only takes longer."""
                            .formatted(
                                    missing,
                                    ranks.size(),
                                    Options.START_TIMEOUT.format(settings.startTimeout())));
            return FAILURE;
        }
        if (code != 0 && interruption == null) {
            launcherConsole.printMessage(ranks.report(code, others));
        }
        return code;
    }

    /// The addresses at which the ranks reach the launcher.
    private static LocalAddresses addresses(MpiJob job) {
        return job.hosts().stream().map(Host::name).allMatch(LocalHost::isNamed)
                ? LocalAddresses.loopback()
                : LocalAddresses.ofInterfacesOrAll(job.interfaces());
    }

    private Map<String, String> variables(LocalAddresses addresses, int port) {
        Map<String, String> variables = new LinkedHashMap<>();
        put(
                variables,
                Options.RENDEZVOUS_ADDR,
                addresses.reachableFromOtherHosts().addresses().stream()
                        .map(InetAddress::getHostAddress)
                        .collect(Collectors.joining(",")));
        put(variables, Options.RENDEZVOUS_PORT, port);
        put(variables, Options.RENDEZVOUS_SERVER, RendezvousHost.LAUNCHER);
        put(variables, Options.SECRET_KEY, settings.secret().encode());
        put(variables, Options.JOB_ID, settings.id());
        return variables;
    }

    private static <T extends Comparable<T>> void put(
            Map<String, String> variables, Option<T> option, T value) {
        variables.put(option.variable(), option.format(value));
    }
}
