package org.horovod4j.collectives;

import org.horovod4j.DataType;
import org.horovod4j.Scale;
import org.horovod4j.collectives.algorithm.AdasumPartition;
import org.horovod4j.collectives.algorithm.AdasumTree;
import org.horovod4j.collectives.algorithm.PartitionedAdasum;
import org.horovod4j.collectives.algorithm.StagedAlltoall.Pieces;
import org.horovod4j.collectives.kernel.AdasumKernel;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.transport.LocalGroup;

import java.lang.foreign.MemorySegment;

/// Adasum of several tensors, each combined separately. Vectors with the same direction are
/// averaged, orthogonal vectors are added, and vectors between these are combined according to
/// their angle.
///
/// | ranks            | small                                | large                            |
/// |------------------|--------------------------------------|----------------------------------|
/// | one              | copy                                 | copy                             |
/// | on one host      | every rank reads and calculates all  | every rank calculates a share    |
/// | on several hosts | as for large                         | every rank calculates a share    |
///
/// Large tensors are first distributed with an alltoall: rank `r` receives share `r` of the tensors
/// of all ranks, which sends and receives `(n - 1) / n` of the tensors. It combines them pair by
/// pair ([PartitionedAdasum]), and an allgather collects the results. This moves as many bytes as
/// halving and doubling, in fewer steps and for any number of ranks. The caller's memory is read
/// first and written last.
///
/// The result depends on the number of ranks, not on their location: [AdasumTree] defines the order
/// of the pairs, and [AdasumPartition] the order of the sums.
final class CpuAdasum {
    /// Beyond these sizes, in total and for all that a rank reads, distributing the work is faster.
    /// At most one block of the smallest type: a tensor of several blocks may be split between
    /// shares and is then rounded differently.
    private static final long ONE_ROUND_BYTES = (long) AdasumKernel.BLOCK * Short.BYTES;

    private static final long ONE_ROUND_READ = 64 * 1024;

    private static final long CACHE_LINE = 64;

    private final LocalGroup local;
    private final CrossGroup cross;
    private final Kernels kernels;
    private final ScratchMemory scratchMemory;
    private final AdasumExchange exchange;
    private final PartitionedAdasum adasum;

    CpuAdasum(
            LocalGroup local, CrossGroup crossGroup, Kernels kernels, ScratchMemory scratchMemory) {
        this.local = local;
        this.cross = crossGroup;
        this.kernels = kernels;
        this.scratchMemory = scratchMemory;
        this.exchange = new AdasumExchange(local, crossGroup);
        this.adasum =
                new PartitionedAdasum(new AdasumKernel(kernels), AdasumTree.of(crossGroup.size()));
    }

    void run(long stamp, FusedTensors fusedTensors, Scale scale) {
        if (!fusedTensors.dataType().isFloatingPoint()) {
            throw new IllegalArgumentException(
                    "Adasum needs a floating-point type, got %s: convert the tensor, or use SUM or AVERAGE"
                            .formatted(fusedTensors.dataType()));
        }
        long bytes = fusedTensors.byteSize();
        if (cross.size() == 1) {
            runSingleRank(fusedTensors, scale);
        } else if (cross.isSingleDomain()
                && bytes <= ONE_ROUND_BYTES
                && bytes * local.size() <= ONE_ROUND_READ) {
            runInOneRound(stamp, fusedTensors, scale);
        } else {
            runPartitioned(stamp, fusedTensors, scale);
        }
    }

    private void runSingleRank(FusedTensors fusedTensors, Scale scale) {
        MemorySegment memory = scratchMemory.piece(fusedTensors.byteSize());
        pack(fusedTensors, scale, memory, 0);
        postscale(fusedTensors.dataType(), scale, memory, fusedTensors.elementCount());
        fusedTensors.unpack(memory, 0, 0, fusedTensors.elementCount());
    }

    /// Every rank posts its tensors in a notice, and every rank calculates the whole result. Ranks
    /// may use different kernel variants: these give the same bits.
    private void runInOneRound(long stamp, FusedTensors fusedTensors, Scale scale) {
        long bytes = fusedTensors.byteSize();
        pack(fusedTensors, scale, local.region(local.index()), local.nextPayloadOffset());
        local.barrier(stamp);
        MemorySegment vectors = scratchMemory.piece(bytes * local.size());
        for (int member = 0; member < local.size(); member++) {
            MemorySegment.copy(
                    local.region(member), local.payloadOffset(), vectors, bytes * member, bytes);
        }
        AdasumPartition whole = new AdasumPartition(starts(fusedTensors), 1);
        adasum.run(fusedTensors.dataType(), whole, 0, vectors, MemorySegment.NULL, (_, _) -> {});
        postscale(fusedTensors.dataType(), scale, vectors, fusedTensors.elementCount());
        fusedTensors.unpack(vectors, 0, 0, fusedTensors.elementCount());
    }

    private void runPartitioned(long stamp, FusedTensors fusedTensors, Scale scale) {
        int size = cross.size();
        int rank = cross.rank();
        int byteSize = fusedTensors.dataType().byteSize();
        AdasumPartition shares = new AdasumPartition(starts(fusedTensors), size);
        long shareBytes = shares.size(rank) * byteSize;
        long tableBytes = adasum.tableBytes(shares);
        long vectorsStart = aligned(fusedTensors.byteSize());
        long tableStart = vectorsStart + aligned(shareBytes * size);
        MemorySegment memory = scratchMemory.piece(tableStart + tableBytes);
        MemorySegment packed = memory.asSlice(0, fusedTensors.byteSize());
        MemorySegment vectors = memory.asSlice(vectorsStart, shareBytes * size);
        MemorySegment table = memory.asSlice(tableStart, tableBytes);

        pack(fusedTensors, scale, packed, 0);
        Pieces pieces = pieces(shares, byteSize);
        exchange.alltoall(
                stamp,
                packed,
                pieces,
                vectors,
                equalPieces(size, shareBytes),
                longest(pieces, size));
        adasum.run(fusedTensors.dataType(), shares, rank, vectors, table, this::exchange);
        postscale(fusedTensors.dataType(), scale, vectors, shares.size(rank));
        exchange.allgather(vectors.asSlice(0, shareBytes), packed, pieces);
        fusedTensors.unpack(packed, 0, 0, fusedTensors.elementCount());
    }

    private void exchange(MemorySegment table, long entryBytes) {
        int size = cross.size();
        exchange.allgather(
                table.asSlice(cross.rank() * entryBytes, entryBytes),
                table.asSlice(0, size * entryBytes),
                equalPieces(size, entryBytes));
    }

    private void pack(FusedTensors fusedTensors, Scale scale, MemorySegment memory, long offset) {
        long count = fusedTensors.elementCount();
        fusedTensors.pack(0, count, memory, offset);
        if (scale.prescale() != 1.0) {
            kernels.scale(fusedTensors.dataType(), memory, offset, count, scale.prescale());
        }
    }

    private void postscale(DataType dataType, Scale scale, MemorySegment memory, long count) {
        if (scale.postscale() != 1.0) {
            kernels.scale(dataType, memory, 0, count, scale.postscale());
        }
    }

    private static long[] starts(FusedTensors fusedTensors) {
        long[] starts = new long[fusedTensors.tensorCount() + 1];
        for (int tensor = 0; tensor < starts.length; tensor++) {
            starts[tensor] = fusedTensors.start(tensor);
        }
        return starts;
    }

    private static Pieces pieces(AdasumPartition shares, int byteSize) {
        long[] starts = new long[shares.count()];
        long[] sizes = new long[shares.count()];
        for (int share = 0; share < shares.count(); share++) {
            starts[share] = shares.start(share) * byteSize;
            sizes[share] = shares.size(share) * byteSize;
        }
        return new Pieces(starts, sizes);
    }

    /// Adjacent pieces of equal size.
    private static Pieces equalPieces(int count, long bytes) {
        long[] starts = new long[count];
        long[] sizes = new long[count];
        for (int i = 0; i < count; i++) {
            starts[i] = i * bytes;
            sizes[i] = bytes;
        }
        return new Pieces(starts, sizes);
    }

    private static long longest(Pieces pieces, int count) {
        long longest = 0;
        for (int i = 0; i < count; i++) {
            longest = Math.max(longest, pieces.size(i));
        }
        return longest;
    }

    private static long aligned(long bytes) {
        return Math.ceilDiv(bytes, CACHE_LINE) * CACHE_LINE;
    }
}
