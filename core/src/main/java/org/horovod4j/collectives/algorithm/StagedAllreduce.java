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

/// Reduce-scatter and allgather through shared stages, with an exchange between hosts in between.
///
/// | rounds              | bytes copied by each rank | bytes reduced by each rank |
/// |---------------------|---------------------------|----------------------------|
/// | all bytes / 128 KiB | all in, all out           | its part, from `n` stages  |
///
/// In each round every rank packs the next elements of its tensors into its stage. The elements of
/// a round are divided into parts, and each part has one owner. The owner reduces its part over the
/// stages of all ranks, in rank order. If there are other hosts, the owners of the part on all
/// hosts reduce it over their links. Then all ranks unpack all parts. So all owners share the
/// arithmetic and the network. With other hosts a round is a whole stage, 512 KiB, because links
/// are more efficient with large messages.
///
/// Packing and unpacking are the only copies. A round may contain many small tensors or a section
/// of a large one.
public final class StagedAllreduce {
    private final LocalGroup local;
    private final StagedPipeline pipeline;
    private final ActivityRecorder activityRecorder;
    private final MemorySegment[] sources;
    private final long[] offsets;

    /// The bytes of a round if there are no other hosts. The default is small enough that four
    /// rounds fit into a small level-2 cache.
    private long localRoundBytes = Tuning.DEFAULT.roundBytes();

    public StagedAllreduce(LocalGroup local, ActivityRecorder activityRecorder) {
        this.local = local;
        this.activityRecorder = activityRecorder;
        this.pipeline = new StagedPipeline(local);
        this.sources = new MemorySegment[local.size()];
        this.offsets = new long[local.size()];
        for (int member = 0; member < local.size(); member++) {
            sources[member] = local.region(member);
        }
    }

    /// Sets the bytes of a round for the case that there are no other hosts. All members call this
    /// before the same collective.
    public void setRoundBytes(long bytes) {
        localRoundBytes = bytes;
    }

    /// Reduces `fusedTensors` and copies this rank's output range of each tensor to its output.
    ///
    /// @param owners the number of owners; the first members are owners and reduce one part each
    /// @param crossReducer reduces a part over the other hosts; null if there are none
    public void run(
            ScaledReduction reduction,
            int owners,
            @Nullable CrossReducer crossReducer,
            FusedTensors fusedTensors) {
        long roundBytes = crossReducer == null ? localRoundBytes : RegionLayout.STAGE_BYTES;
        long roundElements = roundBytes / reduction.byteSize();
        pipeline.run(
                (fusedTensors.elementCount() + roundElements - 1) / roundElements,
                new AllreducePhases(reduction, owners, crossReducer, fusedTensors, roundElements));
    }

    /// Reduces a part over its owners on all hosts. Also divides and scales the result.
    public interface CrossReducer {
        void reduce(Operands part);
    }

    private final class AllreducePhases implements StagedPipeline.Phases {
        private final ScaledReduction reduction;
        private final int owners;
        private final @Nullable CrossReducer crossReducer;
        private final FusedTensors fusedTensors;
        private final long roundElements;

        AllreducePhases(
                ScaledReduction reduction,
                int owners,
                @Nullable CrossReducer crossReducer,
                FusedTensors fusedTensors,
                long roundElements) {
            this.reduction = reduction;
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
            reduction.prescale(mine, stage, elements);
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
            long offset = stage + start * reduction.byteSize();
            MemorySegment mine = local.region(local.index());
            if (local.size() > 1) {
                Arrays.fill(offsets, offset);
                reduction.reduce(mine, offset, sources, offsets, size);
            }
            if (crossReducer == null) {
                reduction.postscale(mine, offset, size);
                activityRecorder.end(Activity.SHM_ALLREDUCE, since);
            } else {
                since = activityRecorder.end(Activity.SHM_ALLREDUCE, since);
                crossReducer.reduce(reduction.operands(mine, offset, size));
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
                        stage + start * reduction.byteSize(),
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
