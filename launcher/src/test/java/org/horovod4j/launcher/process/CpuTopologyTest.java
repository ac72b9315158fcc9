package org.horovod4j.launcher.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;

class CpuTopologyTest {
    @TempDir Path system;

    /// Two nodes with four cores each, whose second hyper-threads have the numbers 8 to 15.
    @BeforeEach
    void writeFiles() throws IOException {
        write("node/node0/cpulist", "0-3,8-11");
        write("node/node10/cpulist", "4-7,12-15");
        for (int processor = 0; processor < 16; processor++) {
            write(
                    "cpu/cpu%d/topology/thread_siblings_list".formatted(processor),
                    "%d,%d".formatted(processor % 8, processor % 8 + 8));
        }
    }

    private void write(String name, String text) throws IOException {
        Path file = system.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text + "\n");
    }

    private CpuTopology topology(String allowed) throws IOException {
        write("status", "Name:\tx\nCpus_allowed_list:\t" + allowed);
        return CpuTopology.read(system, system.resolve("status"));
    }

    @Test
    void hyperThreadsShareACore() throws IOException {
        CpuTopology topology = topology("0-15");
        assertThat(topology.nodes())
                .containsExactly(
                        List.of(0, 1, 2, 3, 8, 9, 10, 11), List.of(4, 5, 6, 7, 12, 13, 14, 15));
        assertThat(topology.cores())
                .hasSize(8)
                .startsWith(List.of(0, 8), List.of(1, 9))
                .endsWith(List.of(7, 15));
    }

    @Test
    void onlyProcessorsThatMayBeUsedCount() throws IOException {
        CpuTopology topology = topology("4-5,12");
        assertThat(topology.nodes()).containsExactly(List.of(4, 5, 12));
        assertThat(topology.cores()).containsExactly(List.of(4, 12), List.of(5));
    }

    @Test
    void systemWithoutNumaHasOneNode(@TempDir Path empty) throws IOException {
        Path status = Files.writeString(empty.resolve("status"), "Cpus_allowed_list:\t0-2\n");
        CpuTopology topology = CpuTopology.read(empty, status);
        assertThat(topology.nodes()).containsExactly(List.of(0, 1, 2));
        assertThat(topology.cores()).containsExactly(List.of(0), List.of(1), List.of(2));
    }

    @ParameterizedTest(name = "process {1} of {2} on {0} cores")
    @CsvSource({
        "4, 0, 1, '0 1 2 3'",
        "4, 0, 2, '0 1'",
        "4, 1, 2, '2 3'",
        "4, 0, 3, '0'",
        "4, 2, 3, '2 3'",
        "2, 0, 4, '0'",
        "2, 1, 4, '0'",
        "2, 2, 4, '1'",
        "1, 6, 7, '0'"
    })
    void coresAreShared(int cores, int index, int processes, String share) {
        List<List<Integer>> groups = IntStream.range(0, cores).mapToObj(List::of).toList();
        assertThat(CpuTopology.share(groups, index, processes))
                .extracting(String::valueOf)
                .containsExactly(share.split(" "));
    }
}
