package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.MessageSink;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// Ring allgather: each member forwards what it received in the step before.
///
/// | steps   | bytes sent by each member            |
/// |---------|--------------------------------------|
/// | `n - 1` | everything but the right neighbour's |
public final class RingAllgather {
    private final LinkGroup group;

    public RingAllgather(LinkGroup group) {
        this.group = group;
    }

    /// Fills in the blocks of the other members in `memory`; each member has written its own block.
    ///
    /// @param blocks the ranks whose pieces form each member's block
    /// @param starts the offset of each rank's piece in `memory`
    /// @param sizes the size of each rank's piece in bytes
    public void run(MemorySegment memory, List<List<Integer>> blocks, long[] starts, long[] sizes) {
        int size = group.size();
        int right = (group.index() + 1) % size;
        int left = Math.floorMod(group.index() - 1, size);
        for (int step = 0; step < size - 1; step++) {
            List<Integer> out = blocks.get(Math.floorMod(group.index() - step, size));
            List<Integer> in = blocks.get(Math.floorMod(group.index() - step - 1, size));
            for (int piece = 0; piece < Math.max(out.size(), in.size()); piece++) {
                boolean sends = piece < out.size();
                boolean receives = piece < in.size();
                long start = sends ? starts[out.get(piece)] : 0;
                long length = sends ? sizes[out.get(piece)] : 0;
                MessageSink sink =
                        receives
                                ? MessageSink.into(
                                        memory, starts[in.get(piece)], sizes[in.get(piece)])
                                : MessageSink.into(memory, 0, 0);
                if (sends && receives) {
                    group.exchange(right, memory, start, length, left, sink);
                } else if (sends) {
                    group.send(right, memory, start, length);
                } else {
                    group.receive(left, sink);
                }
            }
        }
    }
}
