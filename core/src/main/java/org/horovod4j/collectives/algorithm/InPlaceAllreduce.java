package org.horovod4j.collectives.algorithm;

import org.horovod4j.spi.Activity;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout.Counter;

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

    private final LocalGroup local;
    private final ActivityRecorder activityRecorder;
    private final long[] offsets;

    public InPlaceAllreduce(LocalGroup local, ActivityRecorder activityRecorder) {
        this.local = local;
        this.activityRecorder = activityRecorder;
        this.offsets = new long[local.size()];
    }

    /// Reduces the tensors of `bundle`. The caller has met the others, so all are ready; on return
    /// all are reduced.
    ///
    /// @param tensors where each tensor lies, tensor by tensor and then by member
    public void run(
            ScaledReduction scaledReduction, FusedTensors fusedTensors, MemorySegment[][] tensors) {
        long base = local.counterValue(Counter.REDUCED);
        if (scaledReduction.prescales()) {
            prepare(scaledReduction, fusedTensors, tensors);
            local.increment(Counter.PACKED);
            local.awaitAll(Counter.PACKED, base + 1);
        }
        long since = activityRecorder.begin();
        reduceParts(scaledReduction, fusedTensors, tensors);
        since = activityRecorder.end(Activity.SHM_ALLREDUCE, since);
        local.advanceTo(Counter.PACKED, base + 1);
        local.advanceTo(Counter.UNPACKED, base + 1);
        local.advanceTo(Counter.REDUCED, base + 1);
        local.awaitAll(Counter.REDUCED, base + 1);
        local.resetClaims();
        activityRecorder.end(Activity.WAIT_FOR_DATA, since);
    }

    private void prepare(
            ScaledReduction scaledReduction, FusedTensors fusedTensors, MemorySegment[][] tensors) {
        for (int i = 0; i < tensors.length; i++) {
            long count = fusedTensors.start(i + 1) - fusedTensors.start(i);
            scaledReduction.prepare(tensors[i][local.index()], 0, count);
        }
    }

    /// Reduces this rank's part, and what is left of others' where they are worth sharing.
    private void reduceParts(
            ScaledReduction scaledReduction, FusedTensors fusedTensors, MemorySegment[][] tensors) {
        int size = local.size();
        long count = fusedTensors.elementCount();
        if (count / size * scaledReduction.byteSize() <= SHARE_BYTES) {
            long first = Partition.start(count, local.index(), size);
            long end = Partition.start(count, local.index() + 1, size);
            reduceShare(first, end, scaledReduction, fusedTensors, tensors);
            return;
        }
        for (int turn = 0; turn < size; turn++) {
            reducePart((local.index() + turn) % size, scaledReduction, fusedTensors, tensors);
        }
    }

    /// Reduces what nobody has claimed yet of a member's part.
    private void reducePart(
            int member,
            ScaledReduction scaledReduction,
            FusedTensors fusedTensors,
            MemorySegment[][] tensors) {
        long first = Partition.start(fusedTensors.elementCount(), member, local.size());
        long end = Partition.start(fusedTensors.elementCount(), member + 1, local.size());
        long shareElements = SHARE_BYTES / scaledReduction.byteSize();
        while (true) {
            long share = first + local.claim(member) * shareElements;
            if (share >= end) {
                return;
            }
            reduceShare(
                    share,
                    Math.min(end, share + shareElements),
                    scaledReduction,
                    fusedTensors,
                    tensors);
        }
    }

    private void reduceShare(
            long share,
            long end,
            ScaledReduction scaledReduction,
            FusedTensors fusedTensors,
            MemorySegment[][] tensors) {
        long first = share;
        long pieceElements = PIECE_BYTES / scaledReduction.byteSize();
        for (int i = fusedTensors.tensorAt(first); first < end; i++) {
            long tensorEnd = Math.min(end, fusedTensors.start(i + 1));
            while (first < tensorEnd) {
                long elements = Math.min(pieceElements, tensorEnd - first);
                reduce(scaledReduction, tensors[i], first - fusedTensors.start(i), elements);
                first += elements;
            }
        }
    }

    /// Reduces some elements of a tensor, given for each member.
    private void reduce(
            ScaledReduction scaledReduction, MemorySegment[] tensor, long first, long elements) {
        MemorySegment mine = tensor[local.index()];
        long offset = first * scaledReduction.byteSize();
        Arrays.fill(offsets, offset);
        scaledReduction.fold(mine, offset, tensor, offsets, elements);
        scaledReduction.finish(mine, offset, elements);
        long bytes = elements * scaledReduction.byteSize();
        for (int member = 0; member < tensor.length; member++) {
            if (member != local.index()) {
                MemorySegment.copy(mine, offset, tensor[member], offset, bytes);
            }
        }
    }
}
