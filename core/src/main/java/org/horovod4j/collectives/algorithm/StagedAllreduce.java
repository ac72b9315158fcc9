package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region;
import org.horovod4j.transport.Region.Counter;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Direct reduce-scatter and allgather through shared stages, and between hosts in the middle.
///
/// | rounds             | bytes copied by each rank | bytes reduced by each rank |
/// |--------------------|---------------------------|----------------------------|
/// | tensor / 128 KiB   | tensor in, tensor out     | `n` times its `n`-th       |
///
/// Each rank copies its piece into its stage; owner `p` of a part reduces it over everybody's stages,
/// in rank order; where there are other hosts, the owners of the part on all hosts reduce it further
/// over their links; everybody copies all parts out. Every core works on the arithmetic and every
/// owner on the network. With other hosts a round takes a whole stage, 512 KiB, since links like long
/// messages more than caches like short rounds.
public final class StagedAllreduce {
    /// Four stages of this fit into the smaller level-2 caches of today.
    private static final long NEAR_ROUND_BYTES = 128 * 1024;

    private final Neighbourhood near;
    private final StagedRounds rounds;
    private final MemorySegment[] sources;
    private final long[] offsets;

    public StagedAllreduce(Neighbourhood near) {
        this.near = near;
        this.rounds = new StagedRounds(near);
        this.sources = new MemorySegment[near.size()];
        this.offsets = new long[near.size()];
        for (int member = 0; member < near.size(); member++) {
            sources[member] = near.region(member);
        }
    }

    /// Reduces `count` elements of `input`.
    ///
    /// @param owners how many of the members, the first ones, reduce a part each
    /// @param between what an owner does with its part to bring in other hosts; null without any
    /// @param output where this rank's window of the result goes
    public void run(
            Reduction reduction,
            int owners,
            @Nullable Between between,
            MemorySegment input,
            long count,
            MemorySegment output,
            Window window) {
        long roundBytes = between == null ? NEAR_ROUND_BYTES : Region.STAGE_BYTES;
        long roundElements = roundBytes / reduction.byteSize();
        rounds.run(
                (count + roundElements - 1) / roundElements,
                new Work(reduction, owners, between, input, count, output, window, roundElements));
    }

    /// The elements of the result that a rank wants: all for allreduce, its rows for reducescatter.
    public record Window(long start, long end) {}

    /// Reduces a part to the end, over the owners of the same part elsewhere.
    public interface Between {
        void reduce(Operands part);
    }

    private final class Work implements StagedRounds.Work {
        private final Reduction reduction;
        private final int owners;
        private final @Nullable Between between;
        private final MemorySegment input;
        private final long count;
        private final MemorySegment output;
        private final Window window;
        private final long roundElements;

        Work(
                Reduction reduction,
                int owners,
                @Nullable Between between,
                MemorySegment input,
                long count,
                MemorySegment output,
                Window window,
                long roundElements) {
            this.reduction = reduction;
            this.owners = owners;
            this.between = between;
            this.input = input;
            this.count = count;
            this.output = output;
            this.window = window;
            this.roundElements = roundElements;
        }

        @Override
        public void pack(long round, long stage) {
            MemorySegment mine = near.region(near.index());
            long first = round * roundElements;
            long elements = elements(round);
            MemorySegment.copy(
                    input,
                    first * reduction.byteSize(),
                    mine,
                    stage,
                    elements * reduction.byteSize());
            reduction.prepare(mine, stage, elements);
        }

        @Override
        public void reduce(long round, long stage, long packed) {
            if (near.index() >= owners) {
                return;
            }
            near.awaitAll(Counter.PACKED, packed);
            long elements = elements(round);
            long start = Parts.start(elements, near.index(), owners);
            long size = Parts.start(elements, near.index() + 1, owners) - start;
            long offset = stage + start * reduction.byteSize();
            MemorySegment mine = near.region(near.index());
            if (near.size() > 1) {
                Arrays.fill(offsets, offset);
                reduction.fold(mine, offset, sources, offsets, size);
            }
            if (between == null) {
                reduction.finish(mine, offset, size);
            } else {
                between.reduce(reduction.operands(mine, offset, size));
            }
        }

        @Override
        public void unpack(long round, long stage, long reduced) {
            long elements = elements(round);
            long first = round * roundElements;
            for (int owner = 0; owner < owners; owner++) {
                near.await(owner, Counter.REDUCED, reduced);
                long partStart = first + Parts.start(elements, owner, owners);
                long partEnd = first + Parts.start(elements, owner + 1, owners);
                long start = Math.max(partStart, window.start());
                long end = Math.min(partEnd, window.end());
                if (start < end) {
                    MemorySegment.copy(
                            near.region(owner),
                            stage + (start - first) * reduction.byteSize(),
                            output,
                            (start - window.start()) * reduction.byteSize(),
                            (end - start) * reduction.byteSize());
                }
            }
        }

        private long elements(long round) {
            return Math.min(roundElements, count - round * roundElements);
        }
    }
}
