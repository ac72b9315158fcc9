package org.horovod4j.transport;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/// The NUMA nodes of this machine, each with its processors. A processor reaches the memory of
/// its own node faster than that of others.
///
/// @param nodes the processors of each node
record NumaNodes(List<BitSet> nodes) {
    private static final Path LINUX = Path.of("/sys/devices/system/node");

    NumaNodes {
        nodes = List.copyOf(nodes);
    }

    /// The nodes of this machine; none where the system does not publish them.
    static NumaNodes ofThisMachine() {
        return in(LINUX);
    }

    /// Reads the files `node<number>/cpulist` of a folder.
    static NumaNodes in(Path folder) {
        List<BitSet> nodes = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder, "node[0-9]*")) {
            for (Path node : entries) {
                nodes.add(parse(Files.readString(node.resolve("cpulist")).strip()));
            }
        } catch (IOException | DirectoryIteratorException | NumberFormatException e) {
            return new NumaNodes(List.of()); // not Linux, or a container without these files
        }
        return new NumaNodes(nodes);
    }

    /// Those of `processors` that are on the same node as `processor`. All of them if there are none, or
    /// the node is not known.
    BitSet sameNode(BitSet processors, int processor) {
        for (BitSet node : nodes) {
            if (node.get(processor) && node.intersects(processors)) {
                BitSet near = (BitSet) processors.clone();
                near.and(node);
                return near;
            }
        }
        return processors;
    }

    /// A list such as `0-3,8`. A node without processors has an empty one.
    private static BitSet parse(String list) {
        BitSet processors = new BitSet();
        if (!list.isEmpty()) {
            for (String range : list.split(",", -1)) {
                String[] ends = range.split("-", 2);
                int first = Integer.parseInt(ends[0]);
                int last = ends.length == 1 ? first : Integer.parseInt(ends[1]);
                processors.set(first, last + 1);
            }
        }
        return processors;
    }
}
