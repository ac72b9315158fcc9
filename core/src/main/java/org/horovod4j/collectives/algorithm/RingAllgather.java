package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.IncomingMessage;
import org.horovod4j.transport.MessageSink;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// Ring allgather: each member forwards what it receives in the step before, as it arrives.
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
        group.open(right, left);
        @Nullable IncomingMessage[] received = new IncomingMessage[starts.length];
        for (int step = 0; step < size - 1; step++) {
            List<Integer> out = blocks.get(Math.floorMod(group.index() - step, size));
            List<Integer> in = blocks.get(Math.floorMod(group.index() - step - 1, size));
            for (int piece = 0; piece < Math.max(out.size(), in.size()); piece++) {
                if (piece < out.size()) {
                    int rank = out.get(piece);
                    group.startForward(right, memory, starts[rank], sizes[rank], received[rank]);
                }
                if (piece < in.size()) {
                    int rank = in.get(piece);
                    received[rank] =
                            group.startReceive(
                                    left, MessageSink.into(memory, starts[rank], sizes[rank]));
                }
            }
        }
        group.pointToPoint().awaitAll();
    }
}
