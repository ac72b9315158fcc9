package org.horovod4j.collectives.algorithm;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region.Counter;

/// Reduces tensors that lie in shared memory already: nothing is copied in or out.
///
/// | rounds           | bytes read by each rank             | bytes written by each rank |
/// |------------------|-------------------------------------|----------------------------|
/// | tensor / (n × 256 KiB) | `n` times its `n`-th, then the others' | the tensor       |
///
/// The tensor is cut into as many parts as ranks. Each rank reduces its own part over everybody's
/// tensors into its own tensor, a piece at a time, and copies the other parts' pieces from their
/// owners while these are still in the cache. The caller has met the others, so that all tensors are
/// ready; at the end nobody reads this rank's tensor any more.
public final class InPlaceAllreduce {
    private static final long PIECE_BYTES = 256 * 1024;

    private final Neighbourhood near;

    public InPlaceAllreduce(Neighbourhood near) {
        this.near = near;
    }

    /// Reduces the members' `tensors` of `count` elements.
    public void run(Reduction reduction, MemorySegment[] tensors, long count) {
        new Run(reduction, tensors, count).go();
    }

    private final class Run {
        private final Reduction reduction;
        private final MemorySegment[] tensors;
        private final long count;
        private final MemorySegment mine;
        private final long[] offsets;
        private final long pieceElements;

        Run(Reduction reduction, MemorySegment[] tensors, long count) {
            this.reduction = reduction;
            this.tensors = tensors;
            this.count = count;
            this.mine = tensors[near.index()];
            this.offsets = new long[tensors.length];
            this.pieceElements = PIECE_BYTES / reduction.byteSize();
        }

        void go() {
            long base = near.counted(Counter.REDUCED);
            if (reduction.prescales()) {
                reduction.prepare(mine, 0, count);
                near.count(Counter.PACKED);
                near.awaitAll(Counter.PACKED, base + 1);
            }
            long largestPart = (count + near.size() - 1) / near.size();
            long pieces = Math.max(1, (largestPart + pieceElements - 1) / pieceElements);
            for (long piece = 0; piece <= pieces; piece++) {
                if (piece < pieces) {
                    reduce(piece);
                    near.count(Counter.REDUCED);
                }
                if (piece >= 1) {
                    copy(piece - 1, base + piece);
                }
            }
            near.countTo(Counter.PACKED, base + pieces);
            near.countTo(Counter.UNPACKED, base + pieces);
            near.awaitAll(Counter.UNPACKED, base + pieces);
        }

        private void reduce(long piece) {
            long start = start(near.index(), piece);
            long size = end(near.index(), piece) - start;
            if (size > 0) {
                long offset = start * reduction.byteSize();
                Arrays.fill(offsets, offset);
                reduction.fold(mine, offset, tensors, offsets, size);
                reduction.finish(mine, offset, size);
            }
        }

        private void copy(long piece, long reduced) {
            for (int step = 1; step < near.size(); step++) {
                int owner = (near.index() + step) % near.size();
                near.await(owner, Counter.REDUCED, reduced);
                long start = start(owner, piece);
                long size = end(owner, piece) - start;
                if (size > 0) {
                    long offset = start * reduction.byteSize();
                    MemorySegment.copy(
                            tensors[owner], offset, mine, offset, size * reduction.byteSize());
                }
            }
        }

        private long start(int owner, long piece) {
            return Math.min(
                    Parts.start(count, owner, near.size()) + piece * pieceElements,
                    Parts.start(count, owner + 1, near.size()));
        }

        private long end(int owner, long piece) {
            return start(owner, piece + 1);
        }
    }
}
