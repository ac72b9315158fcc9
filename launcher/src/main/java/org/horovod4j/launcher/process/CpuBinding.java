package org.horovod4j.launcher.process;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/// Binds processes to processors by the command `taskset`, which comes with `setsid`.
///
/// A process is bound before it starts, so that all its threads are, and the JVM and the framework
/// see how many processors they have.
final class CpuBinding {
    static final String BIND_TO = "HOROVOD_BIND_TO";
    static final String HOST_PROCESSORS = "HOROVOD_HOST_PROCESSORS";
    private static final String LOCAL_RANK = "HOROVOD_LOCAL_RANK";
    private static final String LOCAL_SIZE = "HOROVOD_LOCAL_SIZE";
    private static final Path SYSTEM = Path.of("/sys/devices/system");
    private static final Path STATUS = Path.of("/proc/self/status");

    private @Nullable CpuTopology topology;

    /// Adds the words that bind a process, if its variables ask for it. The process also learns how
    /// many processors the host has, because it sees only its own.
    ///
    /// @throws IOException when it cannot be bound
    void bind(ProcessBuilder builder) throws IOException {
        Map<String, String> variables = builder.environment();
        String target = variables.getOrDefault(BIND_TO, "").strip().toLowerCase(Locale.ROOT);
        String localRank = variables.get(LOCAL_RANK);
        String localSize = variables.get(LOCAL_SIZE);
        if (target.isEmpty() || target.equals("none") || localRank == null || localSize == null) {
            return;
        }
        if (SearchPath.of(variables.getOrDefault("PATH", "")).lookUp("taskset").isEmpty()) {
            throw new IOException("--bind-to needs the command taskset. Install util-linux");
        }
        CpuTopology known = topology();
        List<Integer> processors =
                CpuTopology.share(
                        target.equals("numa") ? known.nodes() : known.cores(),
                        Integer.parseInt(localRank),
                        Integer.parseInt(localSize));
        builder.command()
                .addAll(
                        List.of(
                                "taskset",
                                "-c",
                                processors.stream()
                                        .map(String::valueOf)
                                        .collect(Collectors.joining(","))));
        int all = known.nodes().stream().mapToInt(List::size).sum();
        variables.put(HOST_PROCESSORS, String.valueOf(all));
    }

    /// Read once: a large machine has hundreds of files.
    private synchronized CpuTopology topology() throws IOException {
        if (topology == null) {
            topology = CpuTopology.read(SYSTEM, STATUS);
        }
        return topology;
    }
}
