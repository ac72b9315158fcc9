package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.MessageSink;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// Ring allgather: each member passes on what it received in the step before.
///
/// | steps   | bytes sent by each member            |
/// |---------|--------------------------------------|
/// | `n - 1` | everything but the right neighbour's |
public final class RingAllgather {
    private final LinkGroup linkGroup;

    public RingAllgather(LinkGroup linkGroup) {
        this.linkGroup = linkGroup;
    }

    /// Completes `memory`, in which each member has filled its own block already.
    ///
    /// @param blocks which ranks' pieces each member brings
    /// @param starts where the piece of each rank lies in `memory`
    /// @param sizes the bytes of each rank's piece
    public void run(MemorySegment memory, List<List<Integer>> blocks, long[] starts, long[] sizes) {
        int size = linkGroup.size();
        int right = (linkGroup.index() + 1) % size;
        int left = Math.floorMod(linkGroup.index() - 1, size);
        for (int step = 0; step < size - 1; step++) {
            List<Integer> out = blocks.get(Math.floorMod(linkGroup.index() - step, size));
            List<Integer> in = blocks.get(Math.floorMod(linkGroup.index() - step - 1, size));
            for (int piece = 0; piece < Math.max(out.size(), in.size()); piece++) {
                boolean sends = piece < out.size();
                boolean receives = piece < in.size();
                long start = sends ? starts[out.get(piece)] : 0;
                long length = sends ? sizes[out.get(piece)] : 0;
                MessageSink messageSink =
                        receives
                                ? MessageSink.into(
                                        memory, starts[in.get(piece)], sizes[in.get(piece)])
                                : MessageSink.into(memory, 0, 0);
                if (sends && receives) {
                    linkGroup.exchange(right, memory, start, length, left, messageSink);
                } else if (sends) {
                    linkGroup.send(right, memory, start, length);
                } else {
                    linkGroup.receive(left, messageSink);
                }
            }
        }
    }
}
