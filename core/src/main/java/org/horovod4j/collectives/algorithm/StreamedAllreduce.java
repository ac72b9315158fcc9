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

/// Like [StagedAllreduce] within a host, but ranks write their stages with [StreamingStores].
///
/// | rounds              | bytes copied by each rank                               | bytes reduced by each rank |
/// |---------------------|---------------------------------------------------------|----------------------------|
/// | all bytes / 256 KiB | the parts of others in and out, the result of its own   | its part, from `n` ranks   |
///
/// A stage that was streamed is in no cache, so a rank should not read its own. It packs only the
/// parts of the other ranks. It reduces its own part from its tensors into its tensors, piece by
/// piece, and copies each piece to its stage. The others unpack it from there.
///
/// Results have the same bits as those of [StagedAllreduce].
public final class StreamedAllreduce {
    private static final long PIECE_BYTES = 16 * 1024;

    /// Stages need not stay in a cache, so a round can be larger.
    private static final int ROUND_FACTOR = 2;

    private final LocalGroup local;
    private final StagedPipeline pipeline;
    private final ActivityRecorder activityRecorder;

    /// Private memory for pieces that cannot be reduced in the tensors.
    private final MemorySegment scratch;

    /// Where [ScaledReduction] reads: the stages of the other ranks, and this rank's own values.
    private final MemorySegment[] sources;

    private final long[] offsets;
    private long roundBytes;

    /// @param arena owns scratch memory
    public StreamedAllreduce(LocalGroup local, Arena arena, ActivityRecorder activityRecorder) {
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
    /// @param reduction without a prescale, which would read the stage that was just written
    public void run(ScaledReduction reduction, FusedTensors fusedTensors) {
        long roundElements = roundBytes / reduction.byteSize();
        try {
            pipeline.run(
                    (fusedTensors.elementCount() + roundElements - 1) / roundElements,
                    new Phases(reduction, fusedTensors, roundElements));
        } finally {
            sources[local.index()] = MemorySegment.NULL; // keeps no tensor of the program
        }
    }

    private final class Phases implements StagedPipeline.Phases {
        private final ScaledReduction reduction;
        private final FusedTensors fusedTensors;
        private final long roundElements;
        private final int byteSize;

        Phases(ScaledReduction reduction, FusedTensors fusedTensors, long roundElements) {
            this.reduction = reduction;
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
            fusedTensors.pack(
                    round * roundElements + from,
                    to - from,
                    local.region(local.index()),
                    stage + from * byteSize,
                    StreamingStores::copy);
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
                    && (inTensor == count || inTensor * byteSize >= PIECE_BYTES / 4)) {
                reduce(
                        fusedTensors.input(tensor),
                        fusedTensors.output(tensor),
                        offset,
                        stageOffset,
                        inTensor);
                return inTensor;
            }
            fusedTensors.pack(first, count, scratch, 0);
            reduce(scratch, scratch, 0, stageOffset, count);
            fusedTensors.unpack(scratch, 0, first, count);
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

        /// Reduces this rank's values in `own` and those in the stages of the others into `result`, and copies
        /// the result to this rank's stage.
        ///
        /// @param offset the offset in both segments
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
            StreamingStores.copy(
                    result, offset, local.region(local.index()), stageOffset, count * byteSize);
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
