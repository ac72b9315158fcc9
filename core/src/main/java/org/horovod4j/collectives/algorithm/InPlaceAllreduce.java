package org.horovod4j.collectives.algorithm;

import org.horovod4j.spi.Activities;
import org.horovod4j.spi.Activity;
import org.horovod4j.spi.Bundle;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region.Counter;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Reduces tensors that lie in shared memory already: nothing is copied in or out.
///
/// | meetings | bytes read by each rank | bytes written by each rank |
/// |----------|-------------------------|----------------------------|
/// | 1        | all tensors' worth      | all tensors' worth         |
///
/// The tensors, seen side by side, are cut into as many parts as ranks, wherever one ends and the
/// next begins, and parts into shares. Each rank reduces its part over everybody's tensors and
/// writes the result into all of them, a piece at a time: the lines it writes are those it has just
/// read, so they are still in its cache. Nobody else touches a share that a rank has claimed.
///
/// A rank that is done with its part claims shares of the others': a rank whose core does something
/// else for a while would otherwise keep all waiting, once for each operation of a step. Who
/// reduces a share cannot be seen in the result, since ranks are always added in the same order.
public final class InPlaceAllreduce {
    private static final long PIECE_BYTES = 16 * 1024;

    /// Some ten microseconds of work, beside which it costs nothing to claim it.
    private static final long SHARE_BYTES = 128 * 1024;

    private final Neighbourhood near;
    private final Activities activities;
    private final long[] offsets;

    public InPlaceAllreduce(Neighbourhood near, Activities activities) {
        this.near = near;
        this.activities = activities;
        this.offsets = new long[near.size()];
    }

    /// Reduces the tensors of `bundle`. The caller has met the others, so all are ready; on return
    /// all are reduced.
    ///
    /// @param tensors where each tensor lies, tensor by tensor and then by member
    public void run(Reduction reduction, Bundle bundle, MemorySegment[][] tensors) {
        long base = near.counted(Counter.REDUCED);
        if (reduction.prescales()) {
            prepare(reduction, bundle, tensors);
            near.count(Counter.PACKED);
            near.awaitAll(Counter.PACKED, base + 1);
        }
        long since = activities.begin();
        reduceParts(reduction, bundle, tensors);
        since = activities.end(Activity.SHM_ALLREDUCE, since);
        near.countTo(Counter.PACKED, base + 1);
        near.countTo(Counter.UNPACKED, base + 1);
        near.countTo(Counter.REDUCED, base + 1);
        near.awaitAll(Counter.REDUCED, base + 1);
        near.unclaim();
        activities.end(Activity.WAIT_FOR_DATA, since);
    }

    private void prepare(Reduction reduction, Bundle bundle, MemorySegment[][] tensors) {
        for (int i = 0; i < tensors.length; i++) {
            long count = bundle.start(i + 1) - bundle.start(i);
            reduction.prepare(tensors[i][near.index()], 0, count);
        }
    }

    /// Reduces this rank's part, and what is left of others' where they are worth sharing.
    private void reduceParts(Reduction reduction, Bundle bundle, MemorySegment[][] tensors) {
        int size = near.size();
        long count = bundle.elementCount();
        if (count / size * reduction.byteSize() <= SHARE_BYTES) {
            long first = Parts.start(count, near.index(), size);
            long end = Parts.start(count, near.index() + 1, size);
            reduceShare(first, end, reduction, bundle, tensors);
            return;
        }
        for (int turn = 0; turn < size; turn++) {
            reducePart((near.index() + turn) % size, reduction, bundle, tensors);
        }
    }

    /// Reduces what nobody has claimed yet of a member's part.
    private void reducePart(
            int member, Reduction reduction, Bundle bundle, MemorySegment[][] tensors) {
        long first = Parts.start(bundle.elementCount(), member, near.size());
        long end = Parts.start(bundle.elementCount(), member + 1, near.size());
        long shareElements = SHARE_BYTES / reduction.byteSize();
        while (true) {
            long share = first + near.claim(member) * shareElements;
            if (share >= end) {
                return;
            }
            reduceShare(share, Math.min(end, share + shareElements), reduction, bundle, tensors);
        }
    }

    private void reduceShare(
            long share, long end, Reduction reduction, Bundle bundle, MemorySegment[][] tensors) {
        long first = share;
        long pieceElements = PIECE_BYTES / reduction.byteSize();
        for (int i = bundle.tensorAt(first); first < end; i++) {
            long tensorEnd = Math.min(end, bundle.start(i + 1));
            while (first < tensorEnd) {
                long elements = Math.min(pieceElements, tensorEnd - first);
                reduce(reduction, tensors[i], first - bundle.start(i), elements);
                first += elements;
            }
        }
    }

    /// Reduces some elements of a tensor, given for each member.
    private void reduce(Reduction reduction, MemorySegment[] tensor, long first, long elements) {
        MemorySegment mine = tensor[near.index()];
        long offset = first * reduction.byteSize();
        Arrays.fill(offsets, offset);
        reduction.fold(mine, offset, tensor, offsets, elements);
        reduction.finish(mine, offset, elements);
        long bytes = elements * reduction.byteSize();
        for (int member = 0; member < tensor.length; member++) {
            if (member != near.index()) {
                MemorySegment.copy(mine, offset, tensor[member], offset, bytes);
            }
        }
    }
}
