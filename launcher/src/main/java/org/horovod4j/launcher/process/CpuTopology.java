package org.horovod4j.launcher.process;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// The processors of this machine that the process may use, from the files of Linux.
///
/// @param cores the processors of each core, in the order of NUMA nodes; hyper-threads share a core
/// @param nodes the processors of each NUMA node
record CpuTopology(List<List<Integer>> cores, List<List<Integer>> nodes) {
    private static final String ALLOWED = "Cpus_allowed_list:";

    /// Reads the topology.
    ///
    /// @param system the folder `/sys/devices/system`
    /// @param status the file `/proc/self/status`
    static CpuTopology read(Path system, Path status) throws IOException {
        List<Integer> allowed = allowed(status);
        List<List<Integer>> nodes = nodes(system.resolve("node"), allowed);
        SequencedMap<Integer, List<Integer>> cores = new LinkedHashMap<>();
        for (List<Integer> node : nodes) {
            for (int processor : node) {
                cores.computeIfAbsent(firstOfCore(system, processor), _ -> new ArrayList<>())
                        .add(processor);
            }
        }
        return new CpuTopology(List.copyOf(cores.values()), nodes);
    }

    private static List<Integer> allowed(Path status) throws IOException {
        for (String line : Files.readAllLines(status)) {
            if (line.startsWith(ALLOWED)) {
                return parse(line.substring(ALLOWED.length()));
            }
        }
        throw new IOException("%s does not say which processors may be used".formatted(status));
    }

    /// Processors of a node that may not be used are left out, and nodes without any.
    private static List<List<Integer>> nodes(Path folder, List<Integer> allowed)
            throws IOException {
        if (!Files.isDirectory(folder)) { // a kernel without NUMA
            return List.of(allowed);
        }
        List<Path> nodes = new ArrayList<>();
        try (DirectoryStream<Path> found = Files.newDirectoryStream(folder, "node[0-9]*")) {
            found.forEach(nodes::add);
        }
        nodes.sort(Comparator.comparingInt(CpuTopology::number));
        List<List<Integer>> processors = new ArrayList<>();
        for (Path node : nodes) {
            List<Integer> usable =
                    new ArrayList<>(parse(Files.readString(node.resolve("cpulist"))));
            usable.retainAll(allowed);
            if (!usable.isEmpty()) {
                processors.add(List.copyOf(usable));
            }
        }
        return processors.isEmpty() ? List.of(allowed) : List.copyOf(processors);
    }

    private static int number(Path node) {
        return Integer.parseInt(node.getFileName().toString().substring("node".length()));
    }

    /// The first processor of the same core; the processor itself if the system does not tell.
    private static int firstOfCore(Path system, int processor) throws IOException {
        Path siblings =
                system.resolve("cpu/cpu%d/topology/thread_siblings_list".formatted(processor));
        return Files.isReadable(siblings)
                ? parse(Files.readString(siblings)).getFirst()
                : processor;
    }

    /// Parses a list such as `0-3,8`.
    private static List<Integer> parse(String list) {
        return Stream.of(list.strip().split(",", -1))
                .filter(range -> !range.isEmpty())
                .flatMapToInt(
                        range -> {
                            String[] ends = range.split("-", -1);
                            return IntStream.rangeClosed(
                                    Integer.parseInt(ends[0]),
                                    Integer.parseInt(ends[ends.length - 1]));
                        })
                .boxed()
                .toList();
    }

    /// The share of one process in cores or nodes. If there are more processes than groups, several
    /// processes in sequence share a group.
    ///
    /// @param index of the process among `processes`
    static List<Integer> share(List<List<Integer>> groups, int index, int processes) {
        int first = index * groups.size() / processes;
        int end = Math.max(first + 1, (index + 1) * groups.size() / processes);
        return groups.subList(first, end).stream().flatMap(List::stream).toList();
    }
}
