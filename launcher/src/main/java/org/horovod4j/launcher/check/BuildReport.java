package org.horovod4j.launcher.check;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.process.HostMachine;
import org.horovod4j.launcher.process.SearchPath;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;
import org.horovod4j.spi.BackendProvider;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceProvider;
import org.horovod4j.spi.HostBackendProvider;
import org.horovod4j.text.MessageText;
import org.jspecify.annotations.Nullable;

import java.io.File;
import java.io.IOException;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The table of `horovodrun --check-build`.
public final class BuildReport {
    private static final String VECTOR_MODULE = "jdk.incubator.vector";
    private static final Duration TOOL_TIMEOUT = Duration.ofSeconds(10);

    /// Loads TensorFlow twice.
    private static final Duration KERNEL_CHECK_TIMEOUT = Duration.ofMinutes(5);

    private static final String KERNEL_CHECK = "org.horovod4j.tensorflow.kernel.KernelCheck";

    /// Starts the line that it prints.
    private static final String KERNELS = "kernels: ";

    private static final String NO_DEVICES = "tensors on a GPU need horovod4j-cuda";

    private final Map<String, String> environment;
    private final SearchPath searchPath;

    public BuildReport(Map<String, String> environment) {
        this.environment = environment;
        this.searchPath = SearchPath.of(environment.getOrDefault("PATH", ""));
    }

    /// The complete table.
    ///
    /// @param version the version of Horovod4J
    /// @param command a program whose class path is examined; may be empty
    /// @param hosts the hosts that the user asks about; may be empty
    public String text(String version, List<String> command, List<HostState> hosts)
            throws InterruptedException {
        ClassPath classPath =
                ClassPath.of(
                        command,
                        environment.getOrDefault("CLASSPATH", ""),
                        System.getProperty("java.class.path", ""));
        List<Finding> unreadable = new ArrayList<>();
        List<Artifact> artifacts = artifacts(classPath, unreadable);
        StringBuilder text = new StringBuilder();
        text.append("Horovod4J %s%n".formatted(version));
        text.append("Java %s, %s%n".formatted(Runtime.version(), System.getProperty("java.home")));
        section(
                text,
                "Modules of Horovod4J (%s, %s)"
                        .formatted(
                                classPath.origin(),
                                MessageText.count(classPath.jars().size(), "jar")),
                Stream.concat(unreadable.stream(), OwnModule.findAll(classPath, artifacts).stream())
                        .toList());
        section(
                text,
                "Frameworks that Horovod4J trains with",
                FrameworkLibrary.findAll(classPath, artifacts, tensorFlowKernels(classPath)));
        section(text, "Backends", backends());
        section(text, "Controllers", controllers());
        section(text, "Transports", transports());
        section(text, "Kernels", kernels());
        section(text, "Devices", devices());
        if (!hosts.isEmpty()) {
            section(text, "Hosts", hosts.stream().map(HostState::finding).toList());
        }
        return text.toString();
    }

    private static void section(StringBuilder text, String title, List<Finding> findings) {
        text.append("%n%s:%n".formatted(title));
        findings.forEach(finding -> text.append("%s%n".formatted(finding)));
    }

    private static List<Artifact> artifacts(ClassPath classPath, List<Finding> unreadable) {
        List<Artifact> artifacts = new ArrayList<>();
        for (Path jar : classPath.jars()) {
            try {
                artifacts.addAll(Artifact.in(jar));
            } catch (IOException e) {
                unreadable.add(
                        Finding.missing(
                                jar.toString(), "cannot be read (%s)".formatted(e.getMessage())));
            }
        }
        return artifacts;
    }

    /// Those of this class path: their libraries are searched on this machine.
    private static List<Finding> backends() {
        List<Finding> findings = new ArrayList<>();
        findings.add(Finding.found("CPU", "all collectives on tensors in main memory"));
        boolean hasDevices = providers(DeviceProvider.class).findAny().isPresent();
        findings.add(
                hasDevices
                        ? Finding.found("HOST", "all collectives on a GPU, through main memory")
                        : Finding.missing("HOST", NO_DEVICES));
        Stream.<BackendProvider>concat(
                        providers(HostBackendProvider.class),
                        providers(DeviceBackendProvider.class))
                .map(
                        each ->
                                each.isAvailable()
                                        ? Finding.found(each.name(), each.describe())
                                        : Finding.missing(each.name(), each.describe()))
                .forEach(findings::add);
        return findings;
    }

    private static <T> Stream<T> providers(Class<T> service) {
        return ServiceLoader.load(service, service.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get);
    }

    private List<Finding> controllers() throws InterruptedException {
        return List.of(
                Finding.found("horovodrun", "this machine, and others through ssh"),
                version("MPI", "mpirun"),
                version("Slurm", "srun"));
    }

    private Finding version(String what, String name) throws InterruptedException {
        return tool(
                what,
                name,
                "--version",
                (tool, answer) ->
                        Finding.found(
                                what,
                                "%s, %s".formatted(tool, answer.stream().findFirst().orElse(""))));
    }

    /// Runs a command of another product, to get information about it.
    ///
    /// @param read makes a finding of its path and the lines that it prints
    private Finding tool(
            String what, String name, String argument, BiFunction<Path, List<String>, Finding> read)
            throws InterruptedException {
        Path tool = searchPath.lookUp(name).orElse(null);
        if (tool == null) {
            return Finding.missing(what, "no %s on the PATH".formatted(name));
        }
        try {
            return read.apply(
                    tool, run(new ProcessBuilder(tool.toString(), argument), TOOL_TIMEOUT));
        } catch (IOException e) {
            return Finding.missing(what, "%s %s".formatted(tool, e.getMessage()));
        }
    }

    /// @throws IOException if it times out or fails
    private static List<String> run(ProcessBuilder command, Duration timeout)
            throws IOException, InterruptedException {
        Process process =
                command.redirectErrorStream(true).redirectInput(new File("/dev/null")).start();
        try {
            // The output is far smaller than a pipe buffer, so it need not be read while the
            // process runs.
            if (!process.waitFor(timeout)) {
                throw new IOException("does not answer");
            }
            String text = new String(process.getInputStream().readAllBytes(), UTF_8);
            List<String> lines = text.lines().filter(line -> !line.isBlank()).toList();
            if (process.exitValue() != 0) {
                throw new IOException(
                        "fails with exit code %d%s"
                                .formatted(
                                        process.exitValue(),
                                        lines.isEmpty() ? "" : " (%s)".formatted(reason(lines))));
            }
            return lines;
        } finally {
            process.destroyForcibly();
        }
    }

    /// The line that says why a command failed: the last cause of an exception, or else the last line.
    private static String reason(List<String> lines) {
        return Stream.of("Caused by: ", "Exception in thread ")
                .flatMap(
                        start ->
                                lines.reversed().stream()
                                        .filter(line -> line.startsWith(start))
                                        .limit(1))
                .findFirst()
                .orElse(lines.getLast());
    }

    /// How collectives would run in a graph of TensorFlow. A program of our module tells it, in a process
    /// of its own, since it loads TensorFlow.
    private String tensorFlowKernels(ClassPath classPath) throws InterruptedException {
        if (!OwnModule.isPresent(OwnModule.TENSORFLOW, classPath)) {
            return "";
        }
        ProcessBuilder command =
                new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "--sun-misc-unsafe-memory-access=allow",
                        "-cp",
                        classPath.entries().stream()
                                .map(Path::toString)
                                .collect(Collectors.joining(File.pathSeparator)),
                        KERNEL_CHECK);
        command.environment().putAll(environment);
        try {
            return run(command, KERNEL_CHECK_TIMEOUT).stream()
                    .filter(line -> line.startsWith(KERNELS))
                    .map(line -> line.substring(KERNELS.length()))
                    .findFirst()
                    .orElse("kernels unknown: %s does not name them".formatted(KERNEL_CHECK));
        } catch (IOException e) {
            return "kernels unknown: %s %s".formatted(KERNEL_CHECK, e.getMessage());
        }
    }

    private List<Finding> transports() {
        Path folder = Path.of(new Environment(environment).get(Options.SHM_FOLDER));
        return List.of(
                Files.isDirectory(folder) && Files.isWritable(folder)
                        ? Finding.found("shared memory", folder.toString())
                        : Finding.missing(
                                "shared memory",
                                "%s is not writable, files in %s are used instead"
                                        .formatted(folder, System.getProperty("java.io.tmpdir"))),
                Finding.found("TCP", ""));
    }

    private static List<Finding> kernels() {
        return List.of(
                ModuleFinder.ofSystem().find(VECTOR_MODULE).isPresent()
                        ? Finding.found("vector", VECTOR_MODULE)
                        : Finding.missing("vector", "this Java does not have " + VECTOR_MODULE),
                Finding.found("scalar", ""));
    }

    private List<Finding> devices() throws InterruptedException {
        int cores = Runtime.getRuntime().availableProcessors();
        List<Finding> findings = new ArrayList<>();
        findings.add(Finding.found("CPU cores", String.valueOf(cores)));
        findings.add(gpus());
        providers(DeviceProvider.class)
                .map(
                        each ->
                                each.count() > 0
                                        ? Finding.found(each.kind().name(), each.describe())
                                        : Finding.missing(each.kind().name(), each.describe()))
                .forEach(findings::add);
        return findings;
    }

    private Finding gpus() throws InterruptedException {
        return tool(
                "NVIDIA GPUs",
                "nvidia-smi",
                "-L",
                (tool, lines) -> {
                    long count = lines.stream().filter(line -> line.startsWith("GPU ")).count();
                    return count > 0
                            ? Finding.found("NVIDIA GPUs", String.valueOf(count))
                            : Finding.missing("NVIDIA GPUs", "%s lists none".formatted(tool));
                });
    }

    /// A host, and what it has or why it cannot be used.
    ///
    /// @param machine null if it cannot be used
    public record HostState(String name, @Nullable HostMachine machine, String problem) {
        Finding finding() {
            return machine == null
                    ? Finding.missing(name, problem)
                    : Finding.found(
                            name,
                            "Java %s, %s, %s"
                                    .formatted(
                                            machine.java(),
                                            MessageText.count(machine.processors(), "processor"),
                                            MessageText.count(machine.gpus(), "NVIDIA GPU")));
        }
    }

    /// A line of the report.
    ///
    /// @param detail what was found, or why it is missing; may be empty
    record Finding(boolean isPresent, String what, String detail) {
        static Finding found(String what, String detail) {
            return new Finding(true, what, detail);
        }

        static Finding missing(String what, String reason) {
            return new Finding(false, what, reason);
        }

        @Override
        public String toString() {
            return "    [%s] %s%s"
                    .formatted(isPresent ? "X" : " ", what, detail.isEmpty() ? "" : ": " + detail);
        }
    }
}
