package org.horovod4j.collectives.algorithm;

import org.horovod4j.spi.Activity;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout.Counter;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Reduces tensors that lie in shared memory on every rank, without copying them in or out.
///
/// | barriers | bytes read by each rank | bytes written by each rank |
/// |----------|-------------------------|----------------------------|
/// | 1        | size of all its tensors | size of all its tensors    |
///
/// The fused array of all tensors is divided into one part per rank, without regard to tensor
/// boundaries. Each rank reduces its part over the tensors of all ranks and writes the result to
/// all of them. It works piece by piece, so it writes cache lines that it has just read.
///
/// Large parts are divided into chunks. A thread claims each chunk before it reduces it, and no other
/// thread accesses that chunk. A rank that has finished its part claims chunks of other parts.
/// Otherwise a rank whose core is busy with something else would delay all ranks in every
/// collective. The result does not depend on which rank reduces a chunk, because the ranks' values
/// are always added in the same order.
public final class InPlaceAllreduce {
    /// The bytes that are reduced and written at a time.
    private static final long PIECE_BYTES = 16 * 1024;

    /// The size of a chunk: about ten microseconds of work, so that the cost of a claim is
    /// negligible.
    private static final long CHUNK_BYTES = 128 * 1024;

    private final LocalGroup local;
    private final ActivityRecorder activityRecorder;
    private final HelperThreads helpers;

    public InPlaceAllreduce(
            LocalGroup local, ActivityRecorder activityRecorder, HelperThreads helpers) {
        this.local = local;
        this.helpers = helpers;
        this.activityRecorder = activityRecorder;
    }

    /// Reduces `fusedTensors`. Before the call all ranks have passed a barrier. On return all
    /// tensors of this rank are reduced.
    ///
    /// @param tensors the memory of each tensor on each member, by tensor and then by member
    public void run(
            ScaledReduction reduction, FusedTensors fusedTensors, MemorySegment[][] tensors) {
        long base = local.counterValue(Counter.REDUCED);
        if (reduction.prescales()) {
            prescale(reduction, fusedTensors, tensors);
            local.increment(Counter.PACKED);
            local.awaitAll(Counter.PACKED, base + 1);
        }
        long since = activityRecorder.begin();
        reduceParts(reduction, fusedTensors, tensors);
        since = activityRecorder.end(Activity.SHM_ALLREDUCE, since);
        // Counts as one round: between collectives the three counters are equal.
        local.advanceTo(Counter.PACKED, base + 1);
        local.advanceTo(Counter.UNPACKED, base + 1);
        local.advanceTo(Counter.REDUCED, base + 1);
        local.awaitAll(Counter.REDUCED, base + 1);
        local.resetClaims();
        activityRecorder.end(Activity.WAIT_FOR_DATA, since);
    }

    /// Prescales this rank's own tensors.
    private void prescale(
            ScaledReduction reduction, FusedTensors fusedTensors, MemorySegment[][] tensors) {
        for (int i = 0; i < tensors.length; i++) {
            long count = fusedTensors.start(i + 1) - fusedTensors.start(i);
            reduction.prescale(tensors[i][local.index()], 0, count);
        }
    }

    /// Reduces this rank's part, and then chunks of other parts if the parts are large enough to
    /// have several.
    private void reduceParts(
            ScaledReduction reduction, FusedTensors fusedTensors, MemorySegment[][] tensors) {
        int size = local.size();
        long count = fusedTensors.elementCount();
        if (count / size * reduction.byteSize() <= CHUNK_BYTES) {
            long first = Partition.start(count, local.index(), size);
            long end = Partition.start(count, local.index() + 1, size);
            reduceChunk(first, end, reduction, fusedTensors, tensors);
            return;
        }
        helpers.share(
                () -> {
                    for (int step = 0; step < size; step++) {
                        reducePart(local.memberAt(step, size), reduction, fusedTensors, tensors);
                    }
                });
    }

    /// Reduces the unclaimed chunks of a member's part.
    private void reducePart(
            int member,
            ScaledReduction reduction,
            FusedTensors fusedTensors,
            MemorySegment[][] tensors) {
        long first = Partition.start(fusedTensors.elementCount(), member, local.size());
        long end = Partition.start(fusedTensors.elementCount(), member + 1, local.size());
        long chunkElements = CHUNK_BYTES / reduction.byteSize();
        while (true) {
            long start = first + local.claim(member) * chunkElements;
            if (start >= end) {
                return;
            }
            reduceChunk(
                    start, Math.min(end, start + chunkElements), reduction, fusedTensors, tensors);
        }
    }

    private void reduceChunk(
            long start,
            long end,
            ScaledReduction reduction,
            FusedTensors fusedTensors,
            MemorySegment[][] tensors) {
        long first = start;
        long pieceElements = PIECE_BYTES / reduction.byteSize();
        for (int i = fusedTensors.tensorAt(first); first < end; i++) {
            long tensorEnd = Math.min(end, fusedTensors.start(i + 1));
            while (first < tensorEnd) {
                long elements = Math.min(pieceElements, tensorEnd - first);
                reduce(reduction, tensors[i], first - fusedTensors.start(i), elements);
                first += elements;
            }
        }
    }

    /// Reduces a range of elements of one tensor, and copies the result to all ranks.
    ///
    /// @param tensor its memory on each member
    private void reduce(
            ScaledReduction reduction, MemorySegment[] tensor, long first, long elements) {
        MemorySegment mine = tensor[local.index()];
        long offset = first * reduction.byteSize();
        long[] offsets = new long[tensor.length];
        Arrays.fill(offsets, offset);
        reduction.reduce(mine, offset, tensor, offsets, elements);
        reduction.postscale(mine, offset, elements);
        long bytes = elements * reduction.byteSize();
        for (int step = 1; step < tensor.length; step++) {
            MemorySegment.copy(
                    mine, offset, tensor[local.memberAt(step, tensor.length)], offset, bytes);
        }
    }
}
