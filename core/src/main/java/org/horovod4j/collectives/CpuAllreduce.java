package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.InPlaceAllreduce;
import org.horovod4j.collectives.algorithm.OneRoundAllreduce;
import org.horovod4j.collectives.algorithm.Operands;
import org.horovod4j.collectives.algorithm.ScaledReduction;
import org.horovod4j.collectives.algorithm.StagedAllreduce;
import org.horovod4j.spi.Activity;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

/// Allreduce: which algorithm for which size and place.
///
/// | where               | small             | large                                           |
/// |---------------------|-------------------|-------------------------------------------------|
/// | one rank            | copy              | copy                                            |
/// | one host            | [OneRoundAllreduce] | [StagedAllreduce], or [InPlaceAllreduce] when it can |
/// | one rank per host   | links, in a copy  | links, in the caller's memory if it is one tensor |
/// | several of each     | [StagedAllreduce] with one owner | the same with all owners         |
final class CpuAllreduce {
    /// From here on several owners share the network's work.
    private static final long MANY_OWNERS_BYTES = 64 * 1024;

    /// Up to here a copy costs less than sending from another place than the stamp.
    private static final long COPIED_BYTES = 64 * 1024;

    /// What one step of a ring should carry, and how much a piece may have for it.
    private static final long STEP_BYTES = 512 * 1024;

    private static final long MAX_PIECE_BYTES = 8 * 1024 * 1024;

    /// No element is larger than this, so that parts differ by no more.
    private static final long ELEMENT_BYTES = 8;

    private final LocalGroup local;
    private final CrossGroup cross;
    private final CpuBarrier barrier;
    private final ScratchMemory scratchMemory;
    private final ActivityRecorder activityRecorder;
    private final OneRoundAllreduce oneRound;
    private final StagedAllreduce staged;
    private final InPlaceAllreduce inPlace;
    private final SharedTensorLocator sharedTensors;

    CpuAllreduce(
            LocalGroup local,
            CrossGroup crossGroup,
            CpuBarrier barrier,
            ScratchMemory scratchMemory,
            ActivityRecorder activityRecorder) {
        this.local = local;
        this.cross = crossGroup;
        this.barrier = barrier;
        this.scratchMemory = scratchMemory;
        this.activityRecorder = activityRecorder;
        this.oneRound = new OneRoundAllreduce(local, scratchMemory.notice(), activityRecorder);
        this.staged = new StagedAllreduce(local, activityRecorder);
        this.inPlace = new InPlaceAllreduce(local, activityRecorder);
        this.sharedTensors = new SharedTensorLocator(local);
    }

    void run(long stamp, ScaledReduction scaledReduction, FusedTensors fusedTensors) {
        if (cross.isSingleDomain()) {
            if (local.size() == 1) {
                runSingleRank(scaledReduction, fusedTensors);
            } else if (oneRound.supports(fusedTensors.byteSize())) {
                oneRound.run(stamp, scaledReduction, fusedTensors);
            } else {
                runLarge(stamp, scaledReduction, fusedTensors);
            }
        } else if (cross.hasOneRankPerDomain()) {
            runOverLinks(scaledReduction, fusedTensors);
        } else {
            barrier(stamp);
            runStaged(stamp, scaledReduction, fusedTensors);
        }
    }

    private void barrier(long stamp) {
        long since = activityRecorder.begin();
        local.barrier(stamp);
        activityRecorder.end(Activity.WAIT_FOR_DATA, since);
    }

    /// Reduces through the stages, with the other hosts if there are any, after a meeting.
    void runStaged(long stamp, ScaledReduction scaledReduction, FusedTensors fusedTensors) {
        if (cross.isSingleDomain()) {
            staged.run(scaledReduction, local.size(), null, fusedTensors);
        } else if (fusedTensors.elementCount() == 0) {
            barrier.run(stamp); // there is no round in which the hosts would see that they agree
        } else {
            int owners =
                    fusedTensors.byteSize() < MANY_OWNERS_BYTES ? 1 : cross.smallestDomainSize();
            staged.run(scaledReduction, owners, cross::allreduce, fusedTensors);
        }
    }

    /// The most bytes for which no ring is taken between hosts. A ring adds an element in an order
    /// that depends on its place among the others; every other algorithm adds all in the same
    /// order, however they are cut into pieces and parts.
    long reproducibleFusionBytes() {
        long part = cross.maxBytesWithoutRing();
        if (cross.isSingleDomain() || part >= largestPart()) {
            return Long.MAX_VALUE;
        }
        return part < MANY_OWNERS_BYTES
                ? part
                : (part - ELEMENT_BYTES) * cross.smallestDomainSize();
    }

    /// The most bytes that are ever reduced at once between hosts.
    private long largestPart() {
        return cross.hasOneRankPerDomain()
                ? pieceBytes()
                : Math.max(
                        MANY_OWNERS_BYTES,
                        RegionLayout.STAGE_BYTES / cross.smallestDomainSize() + ELEMENT_BYTES);
    }

    void tune(Tuning tuning) {
        staged.setRoundBytes(tuning.roundBytes());
    }

    void reset() {
        sharedTensors.reset();
    }

    private void runLarge(long stamp, ScaledReduction scaledReduction, FusedTensors fusedTensors) {
        sharedTensors.post(fusedTensors);
        barrier(stamp);
        MemorySegment @Nullable [][] tensors = sharedTensors.resolve(fusedTensors);
        if (tensors == null) {
            runStaged(stamp, scaledReduction, fusedTensors);
        } else {
            inPlace.run(scaledReduction, fusedTensors, tensors);
        }
    }

    private void runSingleRank(ScaledReduction scaledReduction, FusedTensors fusedTensors) {
        if (scaledReduction.isIdentity()) {
            fusedTensors.copy();
        } else {
            reduceInCopies(
                    scaledReduction,
                    fusedTensors,
                    piece -> scaledReduction.finish(piece.memory(), piece.offset(), piece.count()));
        }
    }

    /// Nobody shares memory with this rank: pieces go over links, one after the other. Their size
    /// is the same for all ranks, wherever a rank has its tensors.
    private void runOverLinks(ScaledReduction scaledReduction, FusedTensors fusedTensors) {
        boolean single = fusedTensors.tensorCount() == 1 && fusedTensors.byteSize() > COPIED_BYTES;
        // Two ranks see each other's stamp before they change anything; more could not tell in
        // time.
        boolean agreed = single && (cross.size() > 2 || scaledReduction.prescales());
        if (agreed) {
            cross.barrier();
        }
        boolean usable = single && fusedTensors.output(0).isNative();
        if (usable && (agreed || fusedTensors.isInPlace())) {
            reduceInOutput(scaledReduction, fusedTensors, cross::allreduce);
        } else {
            reduceInCopies(scaledReduction, fusedTensors, cross::allreduce);
        }
    }

    /// Reduces the only tensor of a bundle piece by piece where it is wanted.
    private void reduceInOutput(
            ScaledReduction scaledReduction, FusedTensors fusedTensors, Consumer<Operands> reduce) {
        MemorySegment output = fusedTensors.output(0);
        fusedTensors.copy();
        int byteSize = scaledReduction.dataType().byteSize();
        long pieceElements = pieceBytes() / byteSize;
        for (long start = 0; start < fusedTensors.elementCount(); start += pieceElements) {
            long elements = Math.min(pieceElements, fusedTensors.elementCount() - start);
            scaledReduction.prepare(output, start * byteSize, elements);
            long since = activityRecorder.begin();
            reduce.accept(scaledReduction.operands(output, start * byteSize, elements));
            activityRecorder.end(Activity.TCP_ALLREDUCE, since);
        }
    }

    /// Reduces a bundle piece by piece, at least one, in copies: of what is short, lies on the heap
    /// or must not be changed before it is known that all agree.
    private void reduceInCopies(
            ScaledReduction scaledReduction, FusedTensors fusedTensors, Consumer<Operands> reduce) {
        long count = fusedTensors.elementCount();
        long pieceElements = pieceBytes() / scaledReduction.dataType().byteSize();
        MemorySegment memory = scratchMemory.piece(Math.min(fusedTensors.byteSize(), pieceBytes()));
        for (long start = 0; start == 0 || start < count; start += pieceElements) {
            long elements = Math.min(pieceElements, count - start);
            long since = activityRecorder.begin();
            fusedTensors.pack(start, elements, memory, 0);
            scaledReduction.prepare(memory, 0, elements);
            since = activityRecorder.end(Activity.MEMCPY_IN_FUSION_BUFFER, since);
            reduce.accept(scaledReduction.operands(memory, 0, elements));
            since = activityRecorder.end(reduceActivity(), since);
            fusedTensors.unpack(memory, 0, start, elements);
            activityRecorder.end(Activity.MEMCPY_OUT_FUSION_BUFFER, since);
        }
    }

    /// What a rank that shares memory with nobody does with a copy: alone, or with others.
    private Activity reduceActivity() {
        return cross.isSingleDomain() ? Activity.SHM_ALLREDUCE : Activity.TCP_ALLREDUCE;
    }

    /// Long enough for every step of a ring, short enough for a copy to stay in a cache.
    private long pieceBytes() {
        return Math.min(MAX_PIECE_BYTES, cross.size() * STEP_BYTES);
    }
}
