package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.Invocation.Controller;
import org.horovod4j.launcher.command.Invocation.Elasticity;
import org.horovod4j.launcher.command.Invocation.GpuDemand;
import org.horovod4j.launcher.command.Invocation.OutputSettings;
import org.horovod4j.launcher.command.Invocation.RemoteSetup;
import org.horovod4j.launcher.driver.Cooldown;
import org.horovod4j.launcher.driver.ElasticLimits;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostFile;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Login;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;
import org.horovod4j.option.RuntimeOptions;
import org.jspecify.annotations.Nullable;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/// A launch request, combined from flags, configuration file and job file. Flags have the highest
/// priority, the job file the lowest.
record LaunchRequest(ParsedArguments arguments, ConfigFile config, JobFile job) {
    /// More than any machine supports, and small enough that sums of ranks fit into an `int`.
    static final int MAX_PROCESSES = 100_000;

    /// Spark chooses the hosts and starts the processes.
    private static final List<LauncherFlag> NOT_FOR_SPARK =
            List.of(
                    LauncherFlag.HOSTS,
                    LauncherFlag.HOST_FILE,
                    LauncherFlag.DISCOVERY_SCRIPT,
                    LauncherFlag.GLOO,
                    LauncherFlag.MPI,
                    LauncherFlag.COPY,
                    LauncherFlag.JAVA,
                    LauncherFlag.OUTPUT_FOLDER,
                    LauncherFlag.RESET_LIMIT,
                    LauncherFlag.COOLDOWN_RANGE);

    LaunchRequest {
        arguments = arguments.withDefaults(job.flags());
    }

    /// @throws ConfigurationException if something is missing or invalid
    ///
    /// @param environment the environment of the launcher
    Invocation.Launch launch(Map<String, String> environment) {
        int processes = processes();
        List<Host> hosts = hosts(processes);
        Controller controller = controller(processes);
        return new Invocation.Launch(
                processes,
                hosts,
                controller,
                remoteSetup(),
                outputSettings(),
                options(environment),
                commands(),
                elasticity(processes, hosts, controller),
                new GpuDemand(job.workers().gpusPerWorker(), job.workers().processesPerWorker()));
    }

    /// The request of `--check-build`, which needs neither processes nor a command.
    Invocation.CheckBuild checkBuild() {
        return new Invocation.CheckBuild(
                arguments.command(), hasHosts() ? hosts(1) : List.of(), remoteSetup());
    }

    /// Whether the user has given hosts.
    boolean hasHosts() {
        return arguments.has(LauncherFlag.HOSTS)
                || arguments.has(LauncherFlag.HOST_FILE)
                || hasDiscovery()
                || !job.hosts().isEmpty();
    }

    /// Whether a script discovers hosts while the job runs.
    private boolean hasDiscovery() {
        return arguments.value(LauncherFlag.DISCOVERY_SCRIPT).isPresent();
    }

    private int processes() {
        if (arguments.has(LauncherFlag.PROCESSES)) {
            return count(LauncherFlag.PROCESSES, 1).orElseThrow();
        }
        // A job file without workers has one.
        int processes =
                Math.max(
                        count(LauncherFlag.MIN_PROCESSES, 1).orElse(0),
                        (int) job.workers().processes());
        if (processes > 0) {
            return processes;
        }
        int slots = givenHosts().stream().mapToInt(Host::slots).sum();
        if (slots == 0) {
            throw new ConfigurationException(
                    "-np is missing. Give the number of processes to start, as in -np 4.");
        }
        return slots;
    }

    private Optional<Integer> count(LauncherFlag flag, int min) {
        return arguments.value(flag).map(text -> parseCount(flag, text, min));
    }

    private static int parseCount(LauncherFlag flag, String text, int min) {
        if (!text.matches("\\d{1,6}")
                || Integer.parseInt(text) < min
                || Integer.parseInt(text) > MAX_PROCESSES) {
            throw new ConfigurationException(
                    "%s: '%s' is not a number from %d to %d. Give one, as in %1$s 4."
                            .formatted(flag, text, min, MAX_PROCESSES));
        }
        return Integer.parseInt(text);
    }

    private List<Host> hosts(int processes) {
        onlyOneOf(LauncherFlag.HOSTS, LauncherFlag.HOST_FILE, LauncherFlag.DISCOVERY_SCRIPT);
        Login login = login();
        return namedHosts(processes).stream().map(host -> host.withDefaults(login)).toList();
    }

    private List<Host> namedHosts(int processes) {
        List<Host> given = givenHosts();
        return given.isEmpty() ? List.of(new Host("localhost", processes)) : given;
    }

    /// The hosts of flags or job file; empty if there are none.
    private List<Host> givenHosts() {
        if (arguments.has(LauncherFlag.HOSTS)) {
            return Host.list(arguments.value(LauncherFlag.HOSTS).orElse(""));
        }
        if (arguments.has(LauncherFlag.HOST_FILE)) {
            return HostFile.read(Path.of(arguments.value(LauncherFlag.HOST_FILE).orElse("")));
        }
        return job.hosts();
    }

    private void onlyOneOf(LauncherFlag... flags) {
        List<LauncherFlag> found = Stream.of(flags).filter(arguments::has).toList();
        if (found.size() > 1) {
            throw sameOption(found.get(0).toString(), found.get(1).toString());
        }
    }

    private static ConfigurationException sameOption(String flag, String other) {
        return new ConfigurationException(
                "%s and %s set the same option: give only one of them.".formatted(flag, other));
    }

    private Login login() {
        return new Login(
                null,
                port(),
                arguments
                        .value(LauncherFlag.SSH_IDENTITY)
                        .map(file -> Login.findIdentityFile(file, "-i"))
                        .orElse(null));
    }

    private @Nullable Integer port() {
        String text = arguments.value(LauncherFlag.SSH_PORT).orElse(null);
        if (text == null) {
            return null;
        }
        if (!text.matches("\\d{1,5}")
                || Integer.parseInt(text) < 1
                || Integer.parseInt(text) > 65_535) {
            throw new ConfigurationException(
                    "-p: '%s' is not a port. Give a number from 1 to 65535.".formatted(text));
        }
        return Integer.valueOf(text);
    }

    private Controller controller(int processes) {
        onlyOneOf(LauncherFlag.GLOO, LauncherFlag.MPI, LauncherFlag.JSRUN);
        if (job.spark() != null) {
            return spark(job.spark(), processes);
        }
        if (arguments.has(LauncherFlag.JSRUN)) {
            throw new ConfigurationException(
                    "--jsrun: LSF and its jsrun are not supported. Name the hosts with -H, or use"
                            + " --mpi.");
        }
        boolean isMpi =
                arguments.has(LauncherFlag.MPI)
                        || ((config.isMpi() || job.isMpi()) && !arguments.has(LauncherFlag.GLOO));
        return isMpi
                ? new Controller.Mpi(
                        words(LauncherFlag.MPI_ARGS),
                        words(LauncherFlag.BINDING_ARGS),
                        arguments.has(LauncherFlag.TCP))
                : new Controller.BuiltIn();
    }

    /// Flags that Spark cannot follow are refused.
    private Controller.Spark spark(SparkSettings spark, int processes) {
        for (LauncherFlag flag : NOT_FOR_SPARK) {
            if (arguments.has(flag)) {
                throw new ConfigurationException(
                        "%s has no effect with engine: spark of the job file. Leave one out."
                                .formatted(flag));
            }
        }
        int most = Math.max(processes, count(LauncherFlag.MAX_PROCESSES, 1).orElse(0));
        return new Controller.Spark(spark, Math.ceilDiv(most, job.workers().processesPerWorker()));
    }

    private List<String> words(LauncherFlag flag) {
        return arguments
                .value(flag)
                .map(text -> ShellWords.split(flag.toString(), text))
                .orElse(List.of());
    }

    private RemoteSetup remoteSetup() {
        List<Path> copies = arguments.values(LauncherFlag.COPY).stream().map(Path::of).toList();
        for (Path copy : copies) {
            if (!Files.isReadable(copy)) {
                throw new ConfigurationException(
                        "--copy: there is no readable file or folder '%s'. Check its path."
                                .formatted(copy));
            }
        }
        return new RemoteSetup(
                arguments.value(LauncherFlag.JAVA).filter(java -> !java.isBlank()).orElse(null),
                copies);
    }

    private OutputSettings outputSettings() {
        Path folder = arguments.value(LauncherFlag.OUTPUT_FOLDER).map(Path::of).orElse(null);
        if (folder != null && Files.isRegularFile(folder)) {
            throw new ConfigurationException(
                    "--output-filename: '%s' is a file. Name a folder, in which each rank gets one."
                            .formatted(folder));
        }
        return new OutputSettings(
                arguments.has(LauncherFlag.VERBOSE),
                folder,
                arguments.has(LauncherFlag.TIMESTAMPS));
    }

    /// The environment variables that flags and files set. Options that are not given are not set,
    /// so that the environment of the launcher and autotune still apply. If autotune is off, its
    /// variables are not set: as in Horovod, the processes do not inherit them.
    private Map<String, String> options(Map<String, String> environment) {
        Map<String, String> variables = new LinkedHashMap<>(job.environment());
        variables.putAll(config.variables());
        for (Option<?> option : Options.all()) {
            putGiven(option, variables);
        }
        List<String> interfaces = interfaces();
        if (!interfaces.isEmpty()) {
            variables.put(Options.NETWORK_INTERFACES.variable(), String.join(",", interfaces));
        }
        Map<String, String> merged = new HashMap<>(environment);
        merged.putAll(variables);
        if (!new Environment(merged).get(RuntimeOptions.AUTOTUNE)) {
            variables.keySet().removeAll(FlagPrerequisite.AUTOTUNE.variables());
        }
        return variables;
    }

    /// Sets the variable of a flag. A value that the processes would reject is rejected here.
    private void putGiven(Option<?> option, Map<String, String> variables) {
        List<OptionFlag> found =
                OptionFlag.of(option).stream()
                        .filter(flag -> arguments.hasFlag(flag.longName()))
                        .toList();
        if (found.size() > 1) {
            throw sameOption(found.get(0).longName(), found.get(1).longName());
        }
        found.forEach(flag -> variables.put(option.variable(), flag.value(arguments.value(flag))));
    }

    private List<String> interfaces() {
        List<String> names =
                arguments.values(LauncherFlag.NETWORK_INTERFACES).stream()
                        .flatMap(text -> Stream.of(text.split(",", -1)))
                        .map(String::strip)
                        .distinct()
                        .toList();
        if (names.contains("")) {
            throw new ConfigurationException(
                    "%s: a name is empty. Give names such as eth0,ib0."
                            .formatted(LauncherFlag.NETWORK_INTERFACES));
        }
        return names;
    }

    private List<List<String>> commands() {
        List<String> command = arguments.command();
        if (command.isEmpty() && !job.commands().isEmpty()) {
            return job.commands();
        }
        if (command.isEmpty() || command.getFirst().isEmpty()) {
            throw new ConfigurationException(
                    "no command to run. Put it last, as in: horovodrun -np 4 java -jar train.jar");
        }
        return List.of(command);
    }

    /// The elasticity of the job; empty if it is not elastic.
    ///
    /// @param hosts the hosts, if no script discovers them
    private Optional<Elasticity> elasticity(
            int processes, List<Host> hosts, Controller controller) {
        Optional<Integer> min = count(LauncherFlag.MIN_PROCESSES, 1);
        if (min.isEmpty() && !hasDiscovery()) {
            return Optional.empty();
        }
        if (controller instanceof Controller.Mpi) {
            throw new ConfigurationException(
                    "--mpi cannot run an elastic job, because mpirun ends all processes when one fails."
                            + " Leave out --mpi, or the flags of elastic jobs.");
        }
        if (!hasDiscovery()) {
            var _ = HostPlan.of(hosts, processes); // throws if they do not fit
        }
        return Optional.of(
                new Elasticity(
                        limits(processes, min.orElse(processes)),
                        cooldown(),
                        arguments.value(LauncherFlag.DISCOVERY_SCRIPT).orElse(null),
                        count(LauncherFlag.SLOTS_PER_HOST, 1).orElse(null),
                        login()));
    }

    private ElasticLimits limits(int processes, int min) {
        int max = hasDiscovery() ? ElasticLimits.UNLIMITED : Math.max(min, processes);
        return new ElasticLimits(
                processes,
                min,
                count(LauncherFlag.MAX_PROCESSES, 1).orElse(max),
                count(LauncherFlag.RESET_LIMIT, 0).orElse(ElasticLimits.UNLIMITED));
    }

    private Cooldown cooldown() {
        List<Duration> range =
                arguments.values(LauncherFlag.COOLDOWN_RANGE).stream()
                        .map(LaunchRequest::parseCooldown)
                        .toList();
        return range.isEmpty() ? Cooldown.DEFAULT : new Cooldown(range.getFirst(), range.getLast());
    }

    private static Duration parseCooldown(String text) {
        if (!text.matches("\\d{1,6}")) {
            throw new ConfigurationException(
                    "%s: '%s' is not a number of seconds. Give two from 1 to %d, as in %1$s 10 300."
                            .formatted(
                                    LauncherFlag.COOLDOWN_RANGE, text, Cooldown.LIMIT.toSeconds()));
        }
        return Duration.ofSeconds(Integer.parseInt(text));
    }
}
