package org.horovod4j.collectives.algorithm;

import org.horovod4j.natives.StreamingStores;
import org.horovod4j.spi.Activity;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;
import org.horovod4j.transport.RegionLayout.Counter;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Like [StagedAllreduce] within a host, but a rank copies its own part of large tensors once, not
/// twice.
///
/// | rounds              | bytes copied by each rank                             | bytes reduced by each rank |
/// |---------------------|-------------------------------------------------------|----------------------------|
/// | all bytes / 256 KiB | the parts of others in and out, the result of its own | its part, from `n` ranks   |
///
/// A rank packs only the parts of the other ranks. It reduces its own part from its tensors into its
/// tensors, piece by piece, and copies each piece to its stage. The others unpack it from there.
///
/// Small tensors, and tensors on the heap, are copied to the stage and reduced there. With
/// [StreamingStores] they are reduced in private memory: what was streamed is in no cache, so a rank should
/// not read its own stage.
///
/// Results have the same bits as those of [StagedAllreduce].
public final class OwnPartAllreduce {
    private static final long PIECE_BYTES = 16 * 1024;

    /// From this size on, a section of one tensor is processed alone. Smaller ones are joined.
    private static final long MIN_SINGLE_BYTES = PIECE_BYTES / 4;

    /// How much larger a round is than one of [StagedAllreduce]: see decision 39.
    private static final int ROUND_FACTOR = 2;

    private final LocalGroup local;
    private final StagedPipeline pipeline;
    private final ActivityRecorder activityRecorder;

    /// Private memory for pieces of small tensors, and of tensors on the heap, before they are streamed.
    private final MemorySegment scratch;

    /// Where [ScaledReduction] reads: the stages of the other ranks, and this rank's own values.
    private final MemorySegment[] sources;

    private final long[] offsets;
    private long roundBytes;

    /// @param arena owns scratch memory
    public OwnPartAllreduce(LocalGroup local, Arena arena, ActivityRecorder activityRecorder) {
        this.local = local;
        this.pipeline = new StagedPipeline(local);
        this.activityRecorder = activityRecorder;
        this.scratch = arena.allocate(PIECE_BYTES, 64);
        this.sources = new MemorySegment[local.size()];
        Arrays.setAll(sources, local::region);
        this.offsets = new long[local.size()];
        setRoundBytes(Tuning.DEFAULT.roundBytes());
    }

    /// Sets the bytes of a round, as [StagedAllreduce#setRoundBytes].
    public void setRoundBytes(long bytes) {
        roundBytes = Math.min(ROUND_FACTOR * bytes, RegionLayout.STAGE_BYTES);
    }

    /// Reduces `fusedTensors`. All ranks share memory, and have passed a barrier.
    ///
    /// @param reduction without a prescale, which would change the stage that was just written
    /// @param streamed whether to write stages with [StreamingStores]
    public void run(ScaledReduction reduction, boolean streamed, FusedTensors fusedTensors) {
        long roundElements = roundBytes / reduction.byteSize();
        try {
            pipeline.run(
                    (fusedTensors.elementCount() + roundElements - 1) / roundElements,
                    new Phases(reduction, streamed, fusedTensors, roundElements));
        } finally {
            sources[local.index()] = MemorySegment.NULL; // keeps no tensor of the program
        }
    }

    private final class Phases implements StagedPipeline.Phases {
        private final ScaledReduction reduction;

        /// Whether stages are written with streaming stores.
        private final boolean streamed;

        private final FusedTensors fusedTensors;
        private final long roundElements;
        private final int byteSize;

        Phases(
                ScaledReduction reduction,
                boolean streamed,
                FusedTensors fusedTensors,
                long roundElements) {
            this.reduction = reduction;
            this.streamed = streamed;
            this.fusedTensors = fusedTensors;
            this.roundElements = roundElements;
            this.byteSize = reduction.byteSize();
        }

        @Override
        public void pack(long round, long stage) {
            long since = activityRecorder.begin();
            pack(round, stage, 0, partStart(round, local.index()));
            pack(round, stage, partStart(round, local.index() + 1), elements(round));
            activityRecorder.end(Activity.MEMCPY_IN_FUSION_BUFFER, since);
        }

        private void pack(long round, long stage, long from, long to) {
            long roundStart = round * roundElements;
            if (!streamed) {
                MemorySegment mine = local.region(local.index());
                fusedTensors.pack(roundStart + from, to - from, mine, stage + from * byteSize);
                return;
            }
            for (long at = from; at < to; ) {
                at += packPiece(roundStart + at, roundStart + to, stage + at * byteSize);
            }
        }

        /// Packs a piece with streaming stores. Small tensors are first copied to private memory, because
        /// starting a streaming copy takes as long as an ordinary copy of some kilobytes.
        ///
        /// @param first its first element in the fused array
        /// @param end the first element that need not be packed
        /// @param stageOffset where the piece belongs
        /// @return the elements of the piece
        private long packPiece(long first, long end, long stageOffset) {
            int tensor = fusedTensors.tensorAt(first);
            long inTensor = Math.min(end, fusedTensors.start(tensor + 1)) - first;
            if (inTensor * byteSize >= MIN_SINGLE_BYTES) {
                long offset = (first - fusedTensors.start(tensor)) * byteSize;
                copyToStage(fusedTensors.input(tensor), offset, stageOffset, inTensor);
                return inTensor;
            }
            long count = Math.min(PIECE_BYTES / byteSize, end - first);
            fusedTensors.pack(first, count, scratch, 0);
            copyToStage(scratch, 0, stageOffset, count);
            return count;
        }

        @Override
        public void reduce(long round, long stage, long packed) {
            long since = activityRecorder.begin();
            local.awaitAll(Counter.PACKED, packed);
            since = activityRecorder.end(Activity.WAIT_FOR_DATA, since);
            long roundStart = round * roundElements;
            long end = partStart(round, local.index() + 1);
            for (long from = partStart(round, local.index()); from < end; ) {
                from += reducePiece(roundStart + from, roundStart + end, stage + from * byteSize);
            }
            activityRecorder.end(Activity.SHM_ALLREDUCE, since);
        }

        /// Reduces a piece of this rank's part.
        ///
        /// @param first its first element in the fused array
        /// @param end the end of the part
        /// @param stageOffset where the piece is in the stages
        /// @return the elements of the piece
        private long reducePiece(long first, long end, long stageOffset) {
            long count = Math.min(PIECE_BYTES / byteSize, end - first);
            int tensor = fusedTensors.tensorAt(first);
            long offset = (first - fusedTensors.start(tensor)) * byteSize;
            long inTensor = Math.min(count, fusedTensors.start(tensor + 1) - first);
            if (canReduceIn(tensor)
                    && (inTensor == count || inTensor * byteSize >= MIN_SINGLE_BYTES)) {
                MemorySegment output = fusedTensors.output(tensor);
                reduce(fusedTensors.input(tensor), output, offset, stageOffset, inTensor);
                copyToStage(output, offset, stageOffset, inTensor);
                return inTensor;
            }
            if (streamed) {
                fusedTensors.pack(first, count, scratch, 0);
                reduce(scratch, scratch, 0, stageOffset, count);
                copyToStage(scratch, 0, stageOffset, count);
                fusedTensors.unpack(scratch, 0, first, count);
            } else {
                MemorySegment mine = local.region(local.index());
                fusedTensors.pack(first, count, mine, stageOffset);
                reduce(mine, mine, stageOffset, stageOffset, count);
                fusedTensors.unpack(mine, stageOffset, first, count);
            }
            return count;
        }

        /// Whether kernels can read a tensor's input, and write its output.
        private boolean canReduceIn(int tensor) {
            return fusedTensors.input(tensor).isNative()
                    && fusedTensors.output(tensor).isNative()
                    && fusedTensors.outputStart(tensor) == 0
                    && fusedTensors.outputEnd(tensor)
                            == fusedTensors.start(tensor + 1) - fusedTensors.start(tensor);
        }

        /// Reduces this rank's values in `own` and those in the stages of the others into `result`.
        ///
        /// @param offset the offset in `own` and `result`
        private void reduce(
                MemorySegment own,
                MemorySegment result,
                long offset,
                long stageOffset,
                long count) {
            Arrays.fill(offsets, stageOffset);
            offsets[local.index()] = offset;
            sources[local.index()] = own;
            reduction.reduce(result, offset, sources, offsets, count);
            reduction.postscale(result, offset, count);
        }

        private void copyToStage(MemorySegment source, long offset, long stageOffset, long count) {
            MemorySegment mine = local.region(local.index());
            if (streamed) {
                StreamingStores.copy(source, offset, mine, stageOffset, count * byteSize);
            } else {
                MemorySegment.copy(source, offset, mine, stageOffset, count * byteSize);
            }
        }

        @Override
        public void unpack(long round, long stage, long reduced) {
            for (int step = 1; step < local.size(); step++) {
                int owner = local.memberAt(step, local.size());
                long since = activityRecorder.begin();
                local.await(owner, Counter.REDUCED, reduced);
                since = activityRecorder.end(Activity.WAIT_FOR_DATA, since);
                long from = partStart(round, owner);
                fusedTensors.unpack(
                        local.region(owner),
                        stage + from * byteSize,
                        round * roundElements + from,
                        partStart(round, owner + 1) - from);
                activityRecorder.end(Activity.MEMCPY_OUT_FUSION_BUFFER, since);
            }
        }

        /// The first element of a member's part in a round.
        private long partStart(long round, int member) {
            return Partition.start(elements(round), member, local.size());
        }

        private long elements(long round) {
            return Math.min(roundElements, fusedTensors.elementCount() - round * roundElements);
        }
    }
}
