package org.horovod4j.collectives.algorithm;

import org.horovod4j.spi.Activity;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;
import org.horovod4j.transport.RegionLayout.Counter;
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
    private final LocalGroup local;
    private final StagedPipeline rounds;
    private final ActivityRecorder activityRecorder;
    private final MemorySegment[] sources;
    private final long[] offsets;

    /// What a round takes without other hosts. By default four stages of it fit into the smaller
    /// level-2 caches of today.
    private long localRoundBytes = Tuning.DEFAULT.roundBytes();

    public StagedAllreduce(LocalGroup local, ActivityRecorder activityRecorder) {
        this.local = local;
        this.activityRecorder = activityRecorder;
        this.rounds = new StagedPipeline(local);
        this.sources = new MemorySegment[local.size()];
        this.offsets = new long[local.size()];
        for (int member = 0; member < local.size(); member++) {
            sources[member] = local.region(member);
        }
    }

    /// Lets a round without other hosts take `bytes`, on all members from the same operation on.
    public void setRoundBytes(long bytes) {
        localRoundBytes = bytes;
    }

    /// Reduces `fusedTensors` and gives this rank what it wants of it.
    ///
    /// @param owners how many of the members, the first ones, reduce a part each
    /// @param crossReducer what an owner does with its part to bring in other hosts; null without any
    public void run(
            ScaledReduction scaledReduction,
            int owners,
            @Nullable CrossReducer crossReducer,
            FusedTensors fusedTensors) {
        long roundBytes = crossReducer == null ? localRoundBytes : RegionLayout.STAGE_BYTES;
        long roundElements = roundBytes / scaledReduction.byteSize();
        rounds.run(
                (fusedTensors.elementCount() + roundElements - 1) / roundElements,
                new AllreducePhases(
                        scaledReduction, owners, crossReducer, fusedTensors, roundElements));
    }

    /// Reduces a part to the end, over the owners of the same part elsewhere.
    public interface CrossReducer {
        void reduce(Operands part);
    }

    private final class AllreducePhases implements StagedPipeline.Phases {
        private final ScaledReduction scaledReduction;
        private final int owners;
        private final @Nullable CrossReducer crossReducer;
        private final FusedTensors fusedTensors;
        private final long roundElements;

        AllreducePhases(
                ScaledReduction scaledReduction,
                int owners,
                @Nullable CrossReducer crossReducer,
                FusedTensors fusedTensors,
                long roundElements) {
            this.scaledReduction = scaledReduction;
            this.owners = owners;
            this.crossReducer = crossReducer;
            this.fusedTensors = fusedTensors;
            this.roundElements = roundElements;
        }

        @Override
        public void pack(long round, long stage) {
            MemorySegment mine = local.region(local.index());
            long elements = elements(round);
            long since = activityRecorder.begin();
            fusedTensors.pack(round * roundElements, elements, mine, stage);
            scaledReduction.prepare(mine, stage, elements);
            activityRecorder.end(Activity.MEMCPY_IN_FUSION_BUFFER, since);
        }

        @Override
        public void reduce(long round, long stage, long packed) {
            if (local.index() >= owners) {
                return;
            }
            long since = activityRecorder.begin();
            local.awaitAll(Counter.PACKED, packed);
            since = activityRecorder.end(Activity.WAIT_FOR_DATA, since);
            long elements = elements(round);
            long start = Partition.start(elements, local.index(), owners);
            long size = Partition.start(elements, local.index() + 1, owners) - start;
            long offset = stage + start * scaledReduction.byteSize();
            MemorySegment mine = local.region(local.index());
            if (local.size() > 1) {
                Arrays.fill(offsets, offset);
                scaledReduction.fold(mine, offset, sources, offsets, size);
            }
            if (crossReducer == null) {
                scaledReduction.finish(mine, offset, size);
                activityRecorder.end(Activity.SHM_ALLREDUCE, since);
            } else {
                since = activityRecorder.end(Activity.SHM_ALLREDUCE, since);
                crossReducer.reduce(scaledReduction.operands(mine, offset, size));
                activityRecorder.end(Activity.TCP_ALLREDUCE, since);
            }
        }

        @Override
        public void unpack(long round, long stage, long reduced) {
            long elements = elements(round);
            long first = round * roundElements;
            for (int owner = 0; owner < owners; owner++) {
                long since = activityRecorder.begin();
                local.await(owner, Counter.REDUCED, reduced);
                since = activityRecorder.end(Activity.WAIT_FOR_DATA, since);
                long start = Partition.start(elements, owner, owners);
                long size = Partition.start(elements, owner + 1, owners) - start;
                fusedTensors.unpack(
                        local.region(owner),
                        stage + start * scaledReduction.byteSize(),
                        first + start,
                        size);
                activityRecorder.end(Activity.MEMCPY_OUT_FUSION_BUFFER, since);
            }
        }

        private long elements(long round) {
            return Math.min(roundElements, fusedTensors.elementCount() - round * roundElements);
        }
    }
}
