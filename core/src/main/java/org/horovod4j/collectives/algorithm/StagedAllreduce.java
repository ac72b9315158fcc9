package org.horovod4j.collectives.algorithm;

import org.horovod4j.spi.Activities;
import org.horovod4j.spi.Activity;
import org.horovod4j.spi.Bundle;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region;
import org.horovod4j.transport.Region.Counter;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Direct reduce-scatter and allgather through shared stages, and between hosts in the middle.
///
/// | rounds              | bytes copied by each rank | bytes reduced by each rank |
/// |---------------------|---------------------------|----------------------------|
/// | all bytes / 128 KiB | all in, all out           | `n` times its `n`-th       |
///
/// Each rank copies its piece into its stage; owner `p` of a part reduces it over everybody's
/// stages, in rank order; where there are other hosts, the owners of the part on all hosts reduce
/// it further over their links; everybody copies all parts out. Every core works on the arithmetic
/// and every owner on the network. With other hosts a round takes a whole stage, 512 KiB, since
/// links like long messages more than caches like short rounds.
///
/// Packing and unpacking are all the copies there are: a round takes tensors as they come, many
/// small ones or a piece of a large one.
public final class StagedAllreduce {
    private final Neighbourhood near;
    private final StagedRounds rounds;
    private final Activities activities;
    private final MemorySegment[] sources;
    private final long[] offsets;

    /// What a round takes without other hosts. By default four stages of it fit into the smaller
    /// level-2 caches of today.
    private long nearRoundBytes = Tuning.DEFAULT.roundBytes();

    public StagedAllreduce(Neighbourhood near, Activities activities) {
        this.near = near;
        this.activities = activities;
        this.rounds = new StagedRounds(near);
        this.sources = new MemorySegment[near.size()];
        this.offsets = new long[near.size()];
        for (int member = 0; member < near.size(); member++) {
            sources[member] = near.region(member);
        }
    }

    /// Lets a round without other hosts take `bytes`, on all members from the same operation on.
    public void roundBytes(long bytes) {
        nearRoundBytes = bytes;
    }

    /// Reduces `bundle` and gives this rank what it wants of it.
    ///
    /// @param owners how many of the members, the first ones, reduce a part each
    /// @param between what an owner does with its part to bring in other hosts; null without any
    public void run(Reduction reduction, int owners, @Nullable Between between, Bundle bundle) {
        long roundBytes = between == null ? nearRoundBytes : Region.STAGE_BYTES;
        long roundElements = roundBytes / reduction.byteSize();
        rounds.run(
                (bundle.elementCount() + roundElements - 1) / roundElements,
                new Work(reduction, owners, between, bundle, roundElements));
    }

    /// Reduces a part to the end, over the owners of the same part elsewhere.
    public interface Between {
        void reduce(Operands part);
    }

    private final class Work implements StagedRounds.Work {
        private final Reduction reduction;
        private final int owners;
        private final @Nullable Between between;
        private final Bundle bundle;
        private final long roundElements;

        Work(
                Reduction reduction,
                int owners,
                @Nullable Between between,
                Bundle bundle,
                long roundElements) {
            this.reduction = reduction;
            this.owners = owners;
            this.between = between;
            this.bundle = bundle;
            this.roundElements = roundElements;
        }

        @Override
        public void pack(long round, long stage) {
            MemorySegment mine = near.region(near.index());
            long elements = elements(round);
            long since = activities.begin();
            bundle.pack(round * roundElements, elements, mine, stage);
            reduction.prepare(mine, stage, elements);
            activities.end(Activity.MEMCPY_IN_FUSION_BUFFER, since);
        }

        @Override
        public void reduce(long round, long stage, long packed) {
            if (near.index() >= owners) {
                return;
            }
            long since = activities.begin();
            near.awaitAll(Counter.PACKED, packed);
            since = activities.end(Activity.WAIT_FOR_DATA, since);
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
                activities.end(Activity.SHM_ALLREDUCE, since);
            } else {
                since = activities.end(Activity.SHM_ALLREDUCE, since);
                between.reduce(reduction.operands(mine, offset, size));
                activities.end(Activity.TCP_ALLREDUCE, since);
            }
        }

        @Override
        public void unpack(long round, long stage, long reduced) {
            long elements = elements(round);
            long first = round * roundElements;
            for (int owner = 0; owner < owners; owner++) {
                long since = activities.begin();
                near.await(owner, Counter.REDUCED, reduced);
                since = activities.end(Activity.WAIT_FOR_DATA, since);
                long start = Parts.start(elements, owner, owners);
                long size = Parts.start(elements, owner + 1, owners) - start;
                bundle.unpack(
                        near.region(owner),
                        stage + start * reduction.byteSize(),
                        first + start,
                        size);
                activities.end(Activity.MEMCPY_OUT_FUSION_BUFFER, since);
            }
        }

        private long elements(long round) {
            return Math.min(roundElements, bundle.elementCount() - round * roundElements);
        }
    }
}
