package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.stream.IntStream;

/// Machines as folders in the format of `/sys/devices/system/node`.
class NumaNodesTest {
    @TempDir private Path folder;

    private void node(int number, String processors) throws IOException {
        Path node = Files.createDirectory(folder.resolve("node" + number));
        Files.writeString(node.resolve("cpulist"), processors + "\n");
    }

    private static BitSet set(int... processors) {
        BitSet set = new BitSet();
        IntStream.of(processors).forEach(set::set);
        return set;
    }

    @Test
    void processorsOfTheSameNodeArePreferred() throws IOException {
        node(0, "0-3,8-11");
        node(1, "4-7,12");
        Files.createDirectory(folder.resolve("power")); // as Linux has beside the nodes
        NumaNodes nodes = NumaNodes.in(folder);
        assertThat(nodes.sameNode(set(2, 5, 9, 12), 0)).isEqualTo(set(2, 9));
        assertThat(nodes.sameNode(set(2, 5, 9, 12), 7)).isEqualTo(set(5, 12));
    }

    @Test
    void allProcessorsAreUsedIfTheNodeHasNoneOfThem() throws IOException {
        node(0, "0-3");
        node(1, "4-7");
        node(2, ""); // memory without processors
        NumaNodes nodes = NumaNodes.in(folder);
        assertThat(nodes.sameNode(set(5, 6), 0)).isEqualTo(set(5, 6));
        assertThat(nodes.sameNode(set(5, 6), 99)).isEqualTo(set(5, 6));
    }

    @Test
    void unknownMachineHasNoPreference() throws IOException {
        NumaNodes none = NumaNodes.in(folder.resolve("missing"));
        assertThat(none.sameNode(set(1, 2), 1)).isEqualTo(set(1, 2));
        node(0, "not a list");
        assertThat(NumaNodes.in(folder).nodes()).isEmpty();
    }
}
