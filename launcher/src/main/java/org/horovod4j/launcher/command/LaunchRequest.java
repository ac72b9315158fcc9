package org.horovod4j.launcher.command;

import static org.horovod4j.launcher.command.LauncherFlag.BINDING_ARGS;
import static org.horovod4j.launcher.command.LauncherFlag.DISCOVERY_SCRIPT;
import static org.horovod4j.launcher.command.LauncherFlag.GLOO;
import static org.horovod4j.launcher.command.LauncherFlag.HOSTS;
import static org.horovod4j.launcher.command.LauncherFlag.HOST_FILE;
import static org.horovod4j.launcher.command.LauncherFlag.JSRUN;
import static org.horovod4j.launcher.command.LauncherFlag.MPI;
import static org.horovod4j.launcher.command.LauncherFlag.MPI_ARGS;
import static org.horovod4j.launcher.command.LauncherFlag.PROCESSES;
import static org.horovod4j.launcher.command.LauncherFlag.TCP;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostFile;
import org.horovod4j.launcher.plan.IdentityFile;
import org.horovod4j.launcher.plan.Login;
import org.jspecify.annotations.Nullable;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/// A launch request, combined from flags, configuration file and job file. Flags have the highest
/// priority, the job file the lowest.
///
/// @param job the job file; empty without `--job`
record LaunchRequest(ParsedArguments arguments, ConfigFile config, Optional<JobFile> job) {
    /// More than any machine supports, and small enough that sums of ranks fit into an `int`.
    static final int MAX_PROCESSES = 100_000;

    /// @throws ConfigurationException if something is missing or invalid
    Invocation.Launch launch() {
        int processes = processes();
        List<Host> hosts = hosts(processes);
        Controller controller = controller();
        return new Invocation.Launch(
                processes,
                hosts,
                controller,
                remoteSetup(),
                outputSettings(),
                JobOptions.of(arguments, config, job),
                commands(),
                elastic().elasticity(processes, hosts, controller, login()));
    }

    private ElasticRequest elastic() {
        return new ElasticRequest(arguments, job.map(JobFile::elastic).orElse(Map.of()));
    }

    /// Whether the user has given hosts.
    boolean hasHosts() {
        return arguments.has(HOSTS)
                || arguments.has(HOST_FILE)
                || elastic().hasDiscovery()
                || job.filter(file -> !file.hosts().isEmpty()).isPresent();
    }

    private int processes() {
        Optional<String> text = arguments.value(PROCESSES);
        if (text.isPresent()) {
            return parseCount(PROCESSES, text.get(), 1);
        }
        // A job file without workers has one.
        int min = elastic().minProcesses().orElse(0);
        int fromFile = job.map(file -> (int) file.jobFileWorkers().processes()).orElse(0);
        if (min == 0 && fromFile == 0) {
            throw new ConfigurationException(
                    "-np is missing. Give the number of processes to start, as in -np 4.");
        }
        return Math.max(min, fromFile);
    }

    /// Parses a count, such as the number of processes.
    static int parseCount(LauncherFlag flag, String text, int min) {
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
        onlyOneOf(HOSTS, HOST_FILE, DISCOVERY_SCRIPT);
        Login login = login();
        return namedHosts(processes).stream().map(host -> host.withDefaults(login)).toList();
    }

    private Login login() {
        return new Login(null, port(), identity());
    }

    private List<Host> namedHosts(int processes) {
        if (arguments.has(HOSTS)) {
            return Host.list(arguments.value(HOSTS).orElse(""));
        }
        if (arguments.has(HOST_FILE)) {
            return HostFile.read(Path.of(arguments.value(HOST_FILE).orElse("")));
        }
        return job.map(JobFile::hosts)
                .filter(hosts -> !hosts.isEmpty())
                .orElseGet(() -> List.of(new Host("localhost", processes)));
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

    private @Nullable Path identity() {
        return arguments
                .value(LauncherFlag.SSH_IDENTITY)
                .map(file -> IdentityFile.of(file, "-i"))
                .orElse(null);
    }

    private Controller controller() {
        onlyOneOf(GLOO, MPI, JSRUN);
        if (arguments.has(JSRUN)) {
            throw new ConfigurationException(
                    "--jsrun: LSF and its jsrun are not supported. Name the hosts with -H, or use"
                            + " --mpi.");
        }
        boolean isMpi =
                arguments.has(MPI)
                        || (!arguments.has(GLOO)
                                && config.controller()
                                        .filter(name -> name == ConfigFile.ControllerName.MPI)
                                        .isPresent());
        return isMpi
                ? new Controller.Mpi(words(MPI_ARGS), words(BINDING_ARGS), arguments.has(TCP))
                : new Controller.BuiltIn();
    }

    private List<String> words(LauncherFlag flag) {
        return arguments
                .value(flag)
                .map(text -> ShellWords.split(flag.toString(), text))
                .orElse(List.of());
    }

    private void onlyOneOf(LauncherFlag... flags) {
        List<LauncherFlag> found = Stream.of(flags).filter(arguments::has).toList();
        if (found.size() > 1) {
            throw new ConfigurationException(
                    "%s and %s set the same option: give only one of them."
                            .formatted(found.get(0), found.get(1)));
        }
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

    private List<List<String>> commands() {
        List<String> command = arguments.command();
        if (command.isEmpty() && job.isPresent()) {
            return job.get().commands();
        }
        if (command.isEmpty() || command.getFirst().isEmpty()) {
            throw new ConfigurationException(
                    "no command to run. Put it last, as in: horovodrun -np 4 java -jar train.jar");
        }
        return List.of(command);
    }
}
