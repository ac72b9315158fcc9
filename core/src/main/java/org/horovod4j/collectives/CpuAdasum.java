package org.horovod4j.collectives;

import org.horovod4j.DataType;
import org.horovod4j.Scale;
import org.horovod4j.collectives.algorithm.AdasumShares;
import org.horovod4j.collectives.algorithm.AdasumTree;
import org.horovod4j.collectives.algorithm.ShareAdasum;
import org.horovod4j.collectives.algorithm.StagedAlltoall.Pieces;
import org.horovod4j.collectives.kernel.AdasumKernel;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.spi.Bundle;
import org.horovod4j.transport.Neighbourhood;

import java.lang.foreign.MemorySegment;

/// Adasum of several tensors, each by itself: vectors that point the same way are averaged, those
/// at right angles added, and everything between by how much they have in common.
///
/// | where          | small                                    | large                             |
/// |----------------|------------------------------------------|-----------------------------------|
/// | one rank       | copy                                     | copy                              |
/// | one host       | everybody reads all and calculates all   | as below, through the stages      |
/// | several hosts  | as for large                             | everybody calculates a share      |
///
/// A large one is dealt out first: rank `r` gets share `r` of everybody's tensors, `(n - 1) / n` of
/// the tensors in and as much out. It combines them pair by pair ([ShareAdasum]), and the results
/// are gathered. That is as many bytes as halving and doubling would move, in fewer steps and for
/// any number of ranks. The caller's memory is read at the very beginning and written at the very
/// end.
///
/// The result depends on the number of ranks, not on where they are: [AdasumTree] gives the order
/// of the pairs, and [AdasumShares] that of the sums inside.
final class CpuAdasum {
    /// Beyond this much per bundle, or for all that a rank reads, sharing the work out pays. No
    /// more than a block of the smallest type: a tensor of several blocks may be cut between
    /// shares, and then rounds differently.
    private static final long ONE_ROUND_BYTES = (long) AdasumKernel.BLOCK * Short.BYTES;

    private static final long ONE_ROUND_READ = 64 * 1024;

    private static final long CACHE_LINE = 64;

    private final Neighbourhood near;
    private final Across across;
    private final Kernels kernels;
    private final Scratch scratch;
    private final AdasumTraffic traffic;
    private final ShareAdasum adasum;

    CpuAdasum(Neighbourhood near, Across across, Kernels kernels, Scratch scratch) {
        this.near = near;
        this.across = across;
        this.kernels = kernels;
        this.scratch = scratch;
        this.traffic = new AdasumTraffic(near, across);
        this.adasum = new ShareAdasum(new AdasumKernel(kernels), AdasumTree.of(across.worldSize()));
    }

    void run(long stamp, Bundle bundle, Scale scale) {
        if (!bundle.dataType().isFloatingPoint()) {
            throw new IllegalArgumentException(
                    "Adasum takes floats, not %s: convert the tensor, or reduce it with SUM or AVERAGE"
                            .formatted(bundle.dataType()));
        }
        long bytes = bundle.byteSize();
        if (across.worldSize() == 1) {
            alone(bundle, scale);
        } else if (across.isEmpty()
                && bytes <= ONE_ROUND_BYTES
                && bytes * near.size() <= ONE_ROUND_READ) {
            inOneRound(stamp, bundle, scale);
        } else {
            inShares(stamp, bundle, scale);
        }
    }

    private void alone(Bundle bundle, Scale scale) {
        MemorySegment memory = scratch.piece(bundle.byteSize());
        pack(bundle, scale, memory, 0);
        finish(bundle.dataType(), scale, memory, bundle.elementCount());
        bundle.unpack(memory, 0, 0, bundle.elementCount());
    }

    /// Everybody posts its tensors in a notice, and everybody calculates the whole result. Kernels
    /// may differ between ranks, but twins give the same bits.
    private void inOneRound(long stamp, Bundle bundle, Scale scale) {
        long bytes = bundle.byteSize();
        pack(bundle, scale, near.region(near.index()), near.nextPayload());
        near.meet(stamp);
        MemorySegment vectors = scratch.piece(bytes * near.size());
        for (int member = 0; member < near.size(); member++) {
            MemorySegment.copy(near.region(member), near.payload(), vectors, bytes * member, bytes);
        }
        AdasumShares whole = new AdasumShares(starts(bundle), 1);
        adasum.run(bundle.dataType(), whole, 0, vectors, MemorySegment.NULL, (_, _) -> {});
        finish(bundle.dataType(), scale, vectors, bundle.elementCount());
        bundle.unpack(vectors, 0, 0, bundle.elementCount());
    }

    private void inShares(long stamp, Bundle bundle, Scale scale) {
        int size = across.worldSize();
        int rank = across.rank();
        int byteSize = bundle.dataType().byteSize();
        AdasumShares shares = new AdasumShares(starts(bundle), size);
        long shareBytes = shares.size(rank) * byteSize;
        long tableBytes = adasum.tableBytes(shares);
        long vectorsStart = aligned(bundle.byteSize());
        long tableStart = vectorsStart + aligned(shareBytes * size);
        MemorySegment memory = scratch.piece(tableStart + tableBytes);
        MemorySegment packed = memory.asSlice(0, bundle.byteSize());
        MemorySegment vectors = memory.asSlice(vectorsStart, shareBytes * size);
        MemorySegment table = memory.asSlice(tableStart, tableBytes);

        pack(bundle, scale, packed, 0);
        Pieces pieces = pieces(shares, byteSize);
        traffic.deal(
                stamp, packed, pieces, vectors, equal(size, shareBytes), longest(pieces, size));
        adasum.run(bundle.dataType(), shares, rank, vectors, table, this::exchange);
        finish(bundle.dataType(), scale, vectors, shares.size(rank));
        traffic.gather(vectors.asSlice(0, shareBytes), packed, pieces);
        bundle.unpack(packed, 0, 0, bundle.elementCount());
    }

    private void exchange(MemorySegment table, long entryBytes) {
        int size = across.worldSize();
        traffic.gather(
                table.asSlice(across.rank() * entryBytes, entryBytes),
                table.asSlice(0, size * entryBytes),
                equal(size, entryBytes));
    }

    private void pack(Bundle bundle, Scale scale, MemorySegment memory, long offset) {
        long count = bundle.elementCount();
        bundle.pack(0, count, memory, offset);
        if (scale.prescale() != 1.0) {
            kernels.scale(bundle.dataType(), memory, offset, count, scale.prescale());
        }
    }

    private void finish(DataType dataType, Scale scale, MemorySegment memory, long count) {
        if (scale.postscale() != 1.0) {
            kernels.scale(dataType, memory, 0, count, scale.postscale());
        }
    }

    private static long[] starts(Bundle bundle) {
        long[] starts = new long[bundle.tensorCount() + 1];
        for (int tensor = 0; tensor < starts.length; tensor++) {
            starts[tensor] = bundle.start(tensor);
        }
        return starts;
    }

    private static Pieces pieces(AdasumShares shares, int byteSize) {
        long[] starts = new long[shares.count()];
        long[] sizes = new long[shares.count()];
        for (int share = 0; share < shares.count(); share++) {
            starts[share] = shares.start(share) * byteSize;
            sizes[share] = shares.size(share) * byteSize;
        }
        return new Pieces(starts, sizes);
    }

    /// Pieces of one size, one after the other.
    private static Pieces equal(int count, long bytes) {
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
