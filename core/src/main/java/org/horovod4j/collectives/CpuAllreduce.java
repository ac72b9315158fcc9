package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.InPlaceAllreduce;
import org.horovod4j.collectives.algorithm.OneRoundAllreduce;
import org.horovod4j.collectives.algorithm.Operands;
import org.horovod4j.collectives.algorithm.Reduction;
import org.horovod4j.collectives.algorithm.StagedAllreduce;
import org.horovod4j.spi.Activities;
import org.horovod4j.spi.Activity;
import org.horovod4j.spi.Bundle;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region;
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

    private final Neighbourhood near;
    private final Across across;
    private final CpuBarrier barrier;
    private final Scratch scratch;
    private final Activities activities;
    private final OneRoundAllreduce oneRound;
    private final StagedAllreduce staged;
    private final InPlaceAllreduce inPlace;
    private final CommonMemory common;

    CpuAllreduce(
            Neighbourhood near,
            Across across,
            CpuBarrier barrier,
            Scratch scratch,
            Activities activities) {
        this.near = near;
        this.across = across;
        this.barrier = barrier;
        this.scratch = scratch;
        this.activities = activities;
        this.oneRound = new OneRoundAllreduce(near, scratch.notice(), activities);
        this.staged = new StagedAllreduce(near, activities);
        this.inPlace = new InPlaceAllreduce(near, activities);
        this.common = new CommonMemory(near);
    }

    void run(long stamp, Reduction reduction, Bundle bundle) {
        if (across.isEmpty()) {
            if (near.size() == 1) {
                alone(reduction, bundle);
            } else if (oneRound.suits(bundle.byteSize())) {
                oneRound.run(stamp, reduction, bundle);
            } else {
                large(stamp, reduction, bundle);
            }
        } else if (across.isEverybody()) {
            overLinks(reduction, bundle);
        } else {
            meet(stamp);
            stage(stamp, reduction, bundle);
        }
    }

    private void meet(long stamp) {
        long since = activities.begin();
        near.meet(stamp);
        activities.end(Activity.WAIT_FOR_DATA, since);
    }

    /// Reduces through the stages, with the other hosts if there are any, after a meeting.
    void stage(long stamp, Reduction reduction, Bundle bundle) {
        if (across.isEmpty()) {
            staged.run(reduction, near.size(), null, bundle);
        } else if (bundle.elementCount() == 0) {
            barrier.run(stamp); // there is no round in which the hosts would see that they agree
        } else {
            int owners = bundle.byteSize() < MANY_OWNERS_BYTES ? 1 : across.places();
            staged.run(reduction, owners, across::allreduce, bundle);
        }
    }

    /// The most bytes for which no ring is taken between hosts. A ring adds an element in an order
    /// that depends on its place among the others; every other algorithm adds all in the same
    /// order, however they are cut into pieces and parts.
    long fusesFreely() {
        long part = across.mostWithoutRing();
        if (across.isEmpty() || part >= largestPart()) {
            return Long.MAX_VALUE;
        }
        return part < MANY_OWNERS_BYTES ? part : (part - ELEMENT_BYTES) * across.places();
    }

    /// The most bytes that are ever reduced at once between hosts.
    private long largestPart() {
        return across.isEverybody()
                ? pieceBytes()
                : Math.max(MANY_OWNERS_BYTES, Region.STAGE_BYTES / across.places() + ELEMENT_BYTES);
    }

    void tune(Tuning tuning) {
        staged.roundBytes(tuning.roundBytes());
    }

    void reset() {
        common.reset();
    }

    private void large(long stamp, Reduction reduction, Bundle bundle) {
        common.post(bundle);
        meet(stamp);
        MemorySegment @Nullable [][] tensors = common.find(bundle);
        if (tensors == null) {
            stage(stamp, reduction, bundle);
        } else {
            inPlace.run(reduction, bundle, tensors);
        }
    }

    private void alone(Reduction reduction, Bundle bundle) {
        if (reduction.isIdentity()) {
            bundle.copy();
        } else {
            inCopies(
                    reduction,
                    bundle,
                    piece -> reduction.finish(piece.memory(), piece.offset(), piece.count()));
        }
    }

    /// Nobody shares memory with this rank: pieces go over links, one after the other. Their size
    /// is the same for all ranks, wherever a rank has its tensors.
    private void overLinks(Reduction reduction, Bundle bundle) {
        boolean single = bundle.tensorCount() == 1 && bundle.byteSize() > COPIED_BYTES;
        // Two ranks see each other's stamp before they change anything; more could not tell in
        // time.
        boolean agreed = single && (across.worldSize() > 2 || reduction.prescales());
        if (agreed) {
            across.agree();
        }
        boolean usable = single && bundle.output(0).isNative();
        if (usable && (agreed || bundle.isInPlace())) {
            inOutput(reduction, bundle, across::allreduce);
        } else {
            inCopies(reduction, bundle, across::allreduce);
        }
    }

    /// Reduces the only tensor of a bundle piece by piece where it is wanted.
    private void inOutput(Reduction reduction, Bundle bundle, Consumer<Operands> reduce) {
        MemorySegment output = bundle.output(0);
        bundle.copy();
        int byteSize = reduction.dataType().byteSize();
        long pieceElements = pieceBytes() / byteSize;
        for (long start = 0; start < bundle.elementCount(); start += pieceElements) {
            long elements = Math.min(pieceElements, bundle.elementCount() - start);
            reduction.prepare(output, start * byteSize, elements);
            long since = activities.begin();
            reduce.accept(reduction.operands(output, start * byteSize, elements));
            activities.end(Activity.TCP_ALLREDUCE, since);
        }
    }

    /// Reduces a bundle piece by piece, at least one, in copies: of what is short, lies on the heap
    /// or must not be changed before it is known that all agree.
    private void inCopies(Reduction reduction, Bundle bundle, Consumer<Operands> reduce) {
        long count = bundle.elementCount();
        long pieceElements = pieceBytes() / reduction.dataType().byteSize();
        MemorySegment memory = scratch.piece(Math.min(bundle.byteSize(), pieceBytes()));
        for (long start = 0; start == 0 || start < count; start += pieceElements) {
            long elements = Math.min(pieceElements, count - start);
            long since = activities.begin();
            bundle.pack(start, elements, memory, 0);
            reduction.prepare(memory, 0, elements);
            since = activities.end(Activity.MEMCPY_IN_FUSION_BUFFER, since);
            reduce.accept(reduction.operands(memory, 0, elements));
            since = activities.end(reducing(), since);
            bundle.unpack(memory, 0, start, elements);
            activities.end(Activity.MEMCPY_OUT_FUSION_BUFFER, since);
        }
    }

    /// What a rank that shares memory with nobody does with a copy: alone, or with others.
    private Activity reducing() {
        return across.isEmpty() ? Activity.SHM_ALLREDUCE : Activity.TCP_ALLREDUCE;
    }

    /// Long enough for every step of a ring, short enough for a copy to stay in a cache.
    private long pieceBytes() {
        return Math.min(MAX_PIECE_BYTES, across.worldSize() * STEP_BYTES);
    }
}
