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
    private final HelperThreads helpers;
    private final MemorySegment[] sources;

    /// The bytes of a round if there are no other hosts. The default is small enough that four
    /// rounds fit into a small level-2 cache.
    private long localRoundBytes = Tuning.DEFAULT.roundBytes();

    public StagedAllreduce(
            LocalGroup local, ActivityRecorder activityRecorder, HelperThreads helpers) {
        this.local = local;
        this.helpers = helpers;
        this.activityRecorder = activityRecorder;
        this.pipeline = new StagedPipeline(local);
        this.sources = new MemorySegment[local.size()];
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
    /// @param threads how many threads the rank with the fewest has for this collective
    /// @param crossReducer reduces a part over the other hosts; null if there are none
    public void run(
            ScaledReduction reduction,
            int owners,
            int threads,
            @Nullable CrossReducer crossReducer,
            FusedTensors fusedTensors) {
        long roundBytes =
                crossReducer == null
                        ? Math.min(localRoundBytes * threads, RegionLayout.STAGE_BYTES)
                        : RegionLayout.STAGE_BYTES;
        long roundElements = roundBytes / reduction.byteSize();
        pipeline.run(
                (fusedTensors.elementCount() + roundElements - 1) / roundElements,
                new AllreducePhases(reduction, owners, crossReducer, fusedTensors, roundElements));
    }

    /// Reduces parts over their owners on all hosts. Also divides and scales the results.
    public interface CrossReducer {
        /// Starts to reduce a part.
        ///
        /// @return what to pass to [#await]
        long start(Operands part);

        /// Waits until a part is reduced.
        void await(long started);
    }

    private final class AllreducePhases implements StagedPipeline.Phases {
        private final ScaledReduction reduction;
        private final int owners;
        private final @Nullable CrossReducer crossReducer;
        private final FusedTensors fusedTensors;
        private final long roundElements;

        /// What [CrossReducer#start] returned for the last two rounds.
        private final long[] started = new long[2];

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
            helpers.divide(
                    elements,
                    reduction.byteSize(),
                    (first, count) -> {
                        long offset = stage + first * reduction.byteSize();
                        fusedTensors.pack(round * roundElements + first, count, mine, offset);
                        reduction.prescale(mine, offset, count);
                    });
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
            helpers.divide(
                    size,
                    reduction.byteSize(),
                    (first, count) -> reduceStages(offset + first * reduction.byteSize(), count));
            if (crossReducer == null) {
                activityRecorder.end(Activity.SHM_ALLREDUCE, since);
            } else {
                since = activityRecorder.end(Activity.SHM_ALLREDUCE, since);
                started[(int) (round % 2)] =
                        crossReducer.start(reduction.operands(mine, offset, size));
                activityRecorder.end(Activity.TCP_ALLREDUCE, since);
            }
        }

        @Override
        public boolean sendsMessages() {
            return crossReducer != null;
        }

        @Override
        public void finishReduce(long round) {
            if (crossReducer != null && local.index() < owners) {
                long since = activityRecorder.begin();
                crossReducer.await(started[(int) (round % 2)]);
                activityRecorder.end(Activity.TCP_ALLREDUCE, since);
            }
        }

        /// Reduces elements over the stages of all members, into the stage of this rank.
        private void reduceStages(long offset, long count) {
            MemorySegment mine = local.region(local.index());
            if (local.size() > 1) {
                long[] offsets = new long[local.size()];
                Arrays.fill(offsets, offset);
                reduction.reduce(mine, offset, sources, offsets, count);
            }
            if (crossReducer == null) {
                reduction.postscale(mine, offset, count);
            }
        }

        /// Alone, this rank unpacks each part as soon as it is reduced. With helpers it waits for
        /// all parts, because dividing each of them would cost more.
        @Override
        public void unpack(long round, long stage, long reduced) {
            long elements = elements(round);
            boolean isAlone = helpers.threads() == 1;
            for (int step = 0; step < owners; step++) {
                int owner = local.memberAt(step, owners);
                long since = activityRecorder.begin();
                local.await(owner, Counter.REDUCED, reduced);
                since = activityRecorder.end(Activity.WAIT_FOR_DATA, since);
                if (isAlone) {
                    unpackPart(owner, round, stage, 0, elements);
                    activityRecorder.end(Activity.MEMCPY_OUT_FUSION_BUFFER, since);
                }
            }
            if (!isAlone) {
                long since = activityRecorder.begin();
                helpers.divide(
                        elements,
                        reduction.byteSize(),
                        (first, count) -> {
                            for (int step = 0; step < owners; step++) {
                                int owner = local.memberAt(step, owners);
                                unpackPart(owner, round, stage, first, first + count);
                            }
                        });
                activityRecorder.end(Activity.MEMCPY_OUT_FUSION_BUFFER, since);
            }
        }

        /// Unpacks those elements of an owner's part that are in the range `first` to `end` of the
        /// round.
        private void unpackPart(int owner, long round, long stage, long first, long end) {
            long elements = elements(round);
            long start = Math.max(first, Partition.start(elements, owner, owners));
            long count = Math.min(end, Partition.start(elements, owner + 1, owners)) - start;
            if (count > 0) {
                fusedTensors.unpack(
                        local.region(owner),
                        stage + start * reduction.byteSize(),
                        round * roundElements + start,
                        count);
            }
        }

        private long elements(long round) {
            return Math.min(roundElements, fusedTensors.elementCount() - round * roundElements);
        }
    }
}
