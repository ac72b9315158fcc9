package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.RankAction;
import org.horovod4j.RankFunction;
import org.horovod4j.WorkerFunction;
import org.horovod4j.launcher.command.Invocation;
import org.horovod4j.launcher.command.Invocation.Controller;
import org.horovod4j.launcher.command.Invocation.Elasticity;
import org.horovod4j.launcher.command.Invocation.GpuDemand;
import org.horovod4j.launcher.command.Invocation.OutputSettings;
import org.horovod4j.launcher.command.Invocation.RemoteSetup;
import org.horovod4j.launcher.driver.Cooldown;
import org.horovod4j.launcher.function.FunctionEncoder;
import org.horovod4j.launcher.function.FunctionServer;
import org.horovod4j.launcher.function.FunctionServerAddresses;
import org.horovod4j.launcher.function.LineOutputStream;
import org.horovod4j.launcher.function.RankCommand;
import org.horovod4j.launcher.function.RankOutcomes;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostFile;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.launcher.plan.Login;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.launcher.process.LocalHost;
import org.horovod4j.option.Options;
import org.jspecify.annotations.Nullable;

import java.io.OutputStream;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/// Runs a function on the ranks of a new job, each in its own process, from inside a program.
///
/// ```java
/// List<Double> losses = Launcher.run(4, comm -> train(comm, 10));
/// ```
///
/// or with more settings:
///
/// ```java
/// List<Double> losses =
///         Launcher.processes(4)
///                 .hosts("gpu1:2,gpu2:2")
///                 .options(Map.of("HOROVOD_FUSION_THRESHOLD", "16M"))
///                 .run(Train::run);
/// ```
///
/// The call returns when all processes of the job have exited. An interrupt of the calling thread
/// ends the job. The output of the processes goes to `System.out` and `System.err` of this program,
/// each line with its rank; the launcher itself prints nothing unless [#verbose] is set.
/// `docs/in-program.md` describes how the function reaches the processes,
/// and what it may use and return.
///
/// One thread sets up a launcher. It may then run any number of functions.
public final class Launcher {
    /// More than any job has, and few enough to keep sums of ranks inside an `int`.
    private static final int MAX_PROCESSES = 100_000;

    private final int processes;
    private final LaunchVariables variables = new LaunchVariables();
    private @Nullable String hosts;
    private @Nullable Path hostFile;
    private Login login = Login.DEFAULT;
    private List<String> networkInterfaces = List.of();
    private Controller controller = new Controller.BuiltIn();
    private List<Path> copies = List.of();
    private boolean verbose;
    private @Nullable Path outputFolder;
    private boolean timestamps;
    private @Nullable OutputStream out;
    private @Nullable OutputStream err;
    private @Nullable String java;
    private @Nullable String classPath;
    private List<String> jvmOptions = List.of();
    private final ElasticSettings elasticSettings = new ElasticSettings();

    private Launcher(int processes) {
        this.processes = processes;
    }

    /// Runs `function` on `processes` ranks of this machine.
    ///
    /// @return what it returned, by rank
    /// @throws ConfigurationException when it cannot be launched; nothing was started
    /// @throws LaunchException when it failed on a rank
    public static <R extends @Nullable Object> List<R> run(
            int processes, RankFunction<R> function) {
        return processes(processes).run(function);
    }

    /// Runs `action` on `processes` ranks of this machine; like [#run(int, RankFunction)].
    public static void execute(int processes, RankAction action) {
        processes(processes).execute(action);
    }

    /// A launcher for this number of processes, on this machine unless [#hosts] or [#hostFile] is
    /// set.
    public static Launcher processes(int count) {
        if (count < 1 || count > MAX_PROCESSES) {
            throw new ConfigurationException(
                    "processes(%d): there must be 1 to %d processes."
                            .formatted(count, MAX_PROCESSES));
        }
        return new Launcher(count);
    }

    /// Where the processes run, and how many each host takes: `gpu1:2,gpu2:2`.
    public Launcher hosts(String hosts) {
        this.hosts = hosts;
        checkOneSource();
        return this;
    }

    /// The same from a file, with a host in each line: `gpu1 slots=2`.
    public Launcher hostFile(Path file) {
        hostFile = file;
        checkOneSource();
        return this;
    }

    private void checkOneSource() {
        if (hosts != null && hostFile != null) {
            throw new ConfigurationException(
                    "hosts(\"%s\") and hostFile(%s) both say where to run. Leave one out."
                            .formatted(hosts, hostFile));
        }
        if (elasticSettings.hasDiscovery() && (hosts != null || hostFile != null)) {
            throw new ConfigurationException(
                    "hostDiscovery and %s both say where to run. Leave one out."
                            .formatted(hosts != null ? "hosts" : "hostFile"));
        }
    }

    /// The ssh port of hosts that do not give one.
    public Launcher sshPort(int port) {
        if (port < 1 || port > 65_535) {
            throw new ConfigurationException(
                    "sshPort(%d): a port is a number from 1 to 65535.".formatted(port));
        }
        login = new Login(null, port, login.identityFile());
        return this;
    }

    /// The ssh private key for hosts that do not give one.
    public Launcher sshIdentity(Path file) {
        if (!Files.isReadable(file)) {
            throw new ConfigurationException(
                    "sshIdentity(%s): there is no such file, or it may not be read. Name a private"
                                    .formatted(file)
                            + " key of yours.");
        }
        login = new Login(null, login.port(), file);
        return this;
    }

    /// The names of the network interfaces that the ranks may use. Default: all.
    public Launcher networkInterfaces(String... names) {
        networkInterfaces = List.of(names);
        return this;
    }

    /// How long the ranks wait for each other at the start.
    public Launcher startTimeout(Duration timeout) {
        return options(
                Map.of(Options.START_TIMEOUT.variable(), Options.START_TIMEOUT.format(timeout)));
    }

    /// Encrypts the connections between the processes, and those to this program.
    public Launcher tls() {
        variables.set("HOROVOD_TLS", "1");
        return this;
    }

    /// Lets `mpirun` start the processes.
    ///
    /// @param arguments to add to its command line
    public Launcher mpi(String... arguments) {
        controller = new Controller.Mpi(List.of(arguments), List.of(), false);
        return this;
    }

    /// The number of processes with which an elastic job continues after a loss; by default as many as
    /// it started with. This and the next methods are for [#runElastic].
    public Launcher minProcesses(int count) {
        elasticSettings.minProcesses(count);
        return this;
    }

    /// How many processes an elastic job has at most; by default as many as it started with or, if a
    /// script finds hosts, as many as these have slots.
    public Launcher maxProcesses(int count) {
        elasticSettings.maxProcesses(count);
        return this;
    }

    /// A command that prints the hosts that an elastic job can use now, each in a line: `gpu1:4`. It is
    /// run every second.
    public Launcher hostDiscovery(String script) {
        elasticSettings.script(script);
        checkOneSource();
        return this;
    }

    /// The slots of a host that the script prints without a number.
    public Launcher slotsPerHost(int count) {
        elasticSettings.slotsPerHost(count);
        return this;
    }

    /// How often the workers of an elastic job may change before it fails; by default without limit.
    public Launcher resetLimit(int count) {
        elasticSettings.resetLimit(count);
        return this;
    }

    /// How long a host is not used after failures: `shortest` the first time, twice as long each
    /// further time, at most `longest`.
    public Launcher cooldown(Duration shortest, Duration longest) {
        elasticSettings.cooldown(new Cooldown(shortest, longest));
        return this;
    }

    /// Options of the runtime by the names of their variables, as in `docs/options.md`. They
    /// override variables of the environment.
    ///
    /// @throws ConfigurationException when there is no such option, or its value is not allowed
    public Launcher options(Map<String, String> options) {
        variables.options(options);
        return this;
    }

    /// Environment variables for the processes, beside those of this program.
    public Launcher environment(Map<String, String> environment) {
        variables.environment(environment);
        return this;
    }

    /// The `java` that runs the processes: a command or a path. Without this, the one of this JVM.
    public Launcher java(String command) {
        java = command;
        return this;
    }

    /// More options for the JVMs of the processes, such as `-Xmx4g`.
    public Launcher jvmOptions(List<String> options) {
        jvmOptions = List.copyOf(options);
        return this;
    }

    /// The class path of the processes. Default: the one of this JVM. It must contain the class of
    /// the function, and Horovod4J with its launcher.
    public Launcher classPath(String path) {
        classPath = path;
        return this;
    }

    /// Files and folders, such as the jars of the program, to copy to each other host.
    public Launcher copyToHosts(List<Path> files) {
        copies = List.copyOf(files);
        return this;
    }

    /// Prints each step of the launch, and messages about the job. Without this the launcher prints
    /// only the output of the processes; a failure is thrown.
    public Launcher verbose() {
        verbose = true;
        return this;
    }

    /// A folder that also gets the output of each rank, in files.
    public Launcher outputFolder(Path folder) {
        outputFolder = folder;
        return this;
    }

    /// Puts the time before each line of output.
    public Launcher timestamps() {
        timestamps = true;
        return this;
    }

    /// Where the output of the processes goes instead of `System.out` and `System.err`. The streams
    /// are not closed.
    public Launcher output(OutputStream out, OutputStream err) {
        this.out = out;
        this.err = err;
        return this;
    }

    /// Gets each line of output instead of `System.out` and `System.err`, one at a time, on threads
    /// of the launcher.
    public Launcher output(Consumer<String> lines) {
        return output(new LineOutputStream(lines), new LineOutputStream(lines));
    }

    /// Runs `function` on each rank.
    ///
    /// @return what it returned, by rank
    /// @throws ConfigurationException when it cannot be launched; nothing was started
    /// @throws LaunchException when it failed on a rank
    public <R extends @Nullable Object> List<R> run(RankFunction<R> function) {
        @SuppressWarnings("unchecked") // each is what an R was encoded to and decoded from
        List<R> results = (List<R>) launch(function, false);
        return results;
    }

    /// Runs `function` on each worker of an elastic job. It calls `Elastic.run`, and leaves it to the
    /// launcher to call `Hvd.shutdown`. The job continues when workers are lost, as [#minProcesses],
    /// [#resetLimit] and the other settings of elastic jobs say; see `docs/elastic.md`.
    ///
    /// @return what it returned on the workers that took part until the end, by rank
    /// @throws ConfigurationException when it cannot be launched; nothing was started
    /// @throws LaunchException when the job failed
    public <R extends @Nullable Object> List<R> runElastic(WorkerFunction<R> function) {
        @SuppressWarnings("unchecked") // each is what an R was encoded to and decoded from
        List<R> results = (List<R>) launch(function, true);
        return results;
    }

    /// Runs `action` on each rank.
    ///
    /// @throws ConfigurationException when it cannot be launched; nothing was started
    /// @throws LaunchException when it failed on a rank
    public void execute(RankAction action) {
        List<@Nullable Object> _ = launch(action, false);
    }

    private List<@Nullable Object> launch(Serializable function, boolean isElastic) {
        Optional<Elasticity> elasticity = isElastic ? Optional.of(elasticity()) : notElastic();
        FunctionEncoder encoder = FunctionEncoder.of(function);
        if (classPath == null) {
            encoder.checkClassPath();
        }
        List<Host> all = findHosts();
        boolean isLocal =
                !elasticSettings.hasDiscovery()
                        && all.stream().map(Host::name).allMatch(LocalHost::isNamed);
        List<Slot> slots =
                elasticSettings.hasDiscovery()
                        ? List.of()
                        : HostPlan.of(all, processes).slots(); // throws if they do not fit
        Map<String, String> set = variables.all();
        if (!networkInterfaces.isEmpty()) {
            set.put(Options.NETWORK_INTERFACES.variable(), String.join(",", networkInterfaces));
        }
        Map<String, String> environment = new HashMap<>(System.getenv());
        environment.putAll(set);
        JobSettings settings = JobSettings.of(environment);
        RankOutcomes rankOutcomes = new RankOutcomes();
        LauncherConsole launcherConsole =
                new LauncherConsole(out == null ? System.out : out, err == null ? System.err : err);
        if (!verbose) {
            launcherConsole.hideMessages();
        }
        try (FunctionServer server =
                new FunctionServer(
                        settings.secret(),
                        LaunchContext.bindAddresses(settings, !isLocal),
                        encoder,
                        isElastic ? MAX_PROCESSES : processes,
                        rankOutcomes,
                        settings.heartbeatTimeout())) {
            String addresses =
                    isLocal
                            ? FunctionServerAddresses.local(server.port())
                            : FunctionServerAddresses.reachable(
                                    server.port(), settings.networkInterfaces());
            RankCommand command = new RankCommand(java, classPath, jvmOptions);
            Invocation.Launch launch =
                    new Invocation.Launch(
                            processes,
                            all,
                            controller,
                            new RemoteSetup(null, copies),
                            new OutputSettings(verbose, outputFolder, timestamps),
                            set,
                            List.of(command.commandLine(addresses)),
                            elasticity,
                            GpuDemand.NONE);
            HorovodRun launcher = new HorovodRun(launcherConsole, System.getenv());
            FunctionJob job =
                    new FunctionJob(
                            launcher, launch, settings, slots, rankOutcomes, launcherConsole);
            return isElastic
                    ? job.runElastic(encoder.codec(), encoder.loader())
                    : job.run(encoder.codec(), encoder.loader());
        }
    }

    private Elasticity elasticity() {
        if (controller instanceof Controller.Mpi) {
            throw new ConfigurationException(
                    "mpi() cannot run an elastic job, because mpirun ends all processes when one fails."
                            + " Leave it out.");
        }
        return elasticSettings.elasticity(processes, login);
    }

    private Optional<Elasticity> notElastic() {
        if (elasticSettings.isAnySet()) {
            throw new ConfigurationException(
                    "minProcesses, maxProcesses, hostDiscovery, slotsPerHost, resetLimit and cooldown"
                            + " are for elastic jobs. Call runElastic, or leave them out.");
        }
        return Optional.empty();
    }

    /// The hosts, with the way to log in to each.
    private List<Host> findHosts() {
        List<Host> named =
                hostFile != null
                        ? HostFile.read(hostFile)
                        : Host.list(hosts == null ? "localhost:" + processes : hosts);
        return named.stream().map(host -> host.withDefaults(login)).toList();
    }
}
