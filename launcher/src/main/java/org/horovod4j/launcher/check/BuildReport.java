package org.horovod4j.launcher.check;

import org.horovod4j.launcher.process.SearchPath;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;

import java.io.IOException;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// The table of `horovodrun --check-build`.
public final class BuildReport {
    private static final String VECTOR_MODULE = "jdk.incubator.vector";

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
    public String text(String version, List<String> command) throws InterruptedException {
        ClassPath classPath = ClassPath.of(command, environment.getOrDefault("CLASSPATH", ""));
        StringBuilder text = new StringBuilder();
        text.append("Horovod4J %s%n".formatted(version));
        text.append("Java %s, %s%n".formatted(Runtime.version(), System.getProperty("java.home")));
        section(
                text,
                "Frameworks found (%s, %d jars)"
                        .formatted(classPath.origin(), classPath.jars().size()),
                frameworks(classPath));
        section(text, "Controllers", controllers());
        section(text, "Transports", transports());
        section(text, "Kernels", kernels());
        section(text, "Devices", devices());
        return text.toString();
    }

    private static void section(StringBuilder text, String title, List<Finding> findings) {
        text.append("%n%s:%n".formatted(title));
        findings.forEach(finding -> text.append("%s%n".formatted(finding)));
    }

    private static List<Finding> frameworks(ClassPath classPath) {
        List<Artifact> artifacts = new ArrayList<>();
        List<Finding> findings = new ArrayList<>();
        for (Path jar : classPath.jars()) {
            try {
                artifacts.addAll(Artifact.in(jar));
            } catch (IOException e) {
                findings.add(
                        Finding.missing(
                                jar.toString(), "cannot be read (%s)".formatted(e.getMessage())));
            }
        }
        Framework.ALL.forEach(framework -> findings.add(framework.find(artifacts)));
        return findings;
    }

    private List<Finding> controllers() throws InterruptedException {
        return List.of(
                Finding.found("horovodrun", "this machine, and others through ssh"),
                tool("MPI", "mpirun", "--version"),
                tool("Slurm", "srun", "--version"));
    }

    private Finding tool(String what, String name, String argument) throws InterruptedException {
        ExternalTool tool = ExternalTool.find(name, searchPath).orElse(null);
        if (tool == null) {
            return Finding.missing(what, "no %s on the PATH".formatted(name));
        }
        try {
            List<String> answer = tool.run(argument);
            return Finding.found(
                    what, "%s, %s".formatted(tool.path(), answer.stream().findFirst().orElse("")));
        } catch (IOException e) {
            return Finding.missing(what, "%s %s".formatted(tool.path(), e.getMessage()));
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
        return List.of(Finding.found("CPU cores", String.valueOf(cores)), gpus());
    }

    private Finding gpus() throws InterruptedException {
        String what = "NVIDIA GPUs";
        ExternalTool tool = ExternalTool.find("nvidia-smi", searchPath).orElse(null);
        if (tool == null) {
            return Finding.missing(what, "no nvidia-smi on the PATH");
        }
        try {
            long count = tool.run("-L").stream().filter(line -> line.startsWith("GPU ")).count();
            return count > 0
                    ? Finding.found(what, String.valueOf(count))
                    : Finding.missing(what, "%s lists none".formatted(tool.path()));
        } catch (IOException e) {
            return Finding.missing(what, "%s %s".formatted(tool.path(), e.getMessage()));
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
