package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region.Counter;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Reduces tensors that lie in shared memory already: nothing is copied in or out.
///
/// | meetings | bytes read by each rank | bytes written by each rank |
/// |----------|-------------------------|----------------------------|
/// | 1        | a tensor's worth        | a tensor's worth           |
///
/// The tensor is cut into as many parts as ranks. Each rank reduces its part over everybody's tensors
/// and writes the result into all of them, a piece at a time: the lines it writes are those it has just
/// read, so they are still in its cache. Nobody else touches that part.
public final class InPlaceAllreduce {
    private static final long PIECE_BYTES = 16 * 1024;

    private final Neighbourhood near;
    private final long[] offsets;

    public InPlaceAllreduce(Neighbourhood near) {
        this.near = near;
        this.offsets = new long[near.size()];
    }

    /// Reduces the members' `tensors` of `count` elements. The caller has met the others, so all
    /// tensors are ready; on return all are reduced.
    public void run(Reduction reduction, MemorySegment[] tensors, long count) {
        long base = near.counted(Counter.REDUCED);
        MemorySegment mine = tensors[near.index()];
        if (reduction.prescales()) {
            reduction.prepare(mine, 0, count);
            near.count(Counter.PACKED);
            near.awaitAll(Counter.PACKED, base + 1);
        }
        long start = Parts.start(count, near.index(), near.size());
        long end = Parts.start(count, near.index() + 1, near.size());
        long pieceElements = PIECE_BYTES / reduction.byteSize();
        for (long first = start; first < end; first += pieceElements) {
            reduce(reduction, tensors, first, Math.min(pieceElements, end - first));
        }
        near.countTo(Counter.PACKED, base + 1);
        near.countTo(Counter.UNPACKED, base + 1);
        near.countTo(Counter.REDUCED, base + 1);
        near.awaitAll(Counter.REDUCED, base + 1);
    }

    private void reduce(Reduction reduction, MemorySegment[] tensors, long first, long elements) {
        MemorySegment mine = tensors[near.index()];
        long offset = first * reduction.byteSize();
        Arrays.fill(offsets, offset);
        reduction.fold(mine, offset, tensors, offsets, elements);
        reduction.finish(mine, offset, elements);
        long bytes = elements * reduction.byteSize();
        for (int member = 0; member < tensors.length; member++) {
            if (member != near.index()) {
                MemorySegment.copy(mine, offset, tensors[member], offset, bytes);
            }
        }
    }
}
