package org.horovod4j.collectives;

import org.horovod4j.Scale;
import org.horovod4j.collectives.algorithm.InPlaceAllreduce;
import org.horovod4j.collectives.algorithm.OneRoundAllreduce;
import org.horovod4j.collectives.algorithm.Operands;
import org.horovod4j.collectives.algorithm.Reduction;
import org.horovod4j.collectives.algorithm.StagedAllreduce;
import org.horovod4j.collectives.algorithm.StagedAllreduce.Window;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.SharedMemory.Place;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Consumer;

/// Allreduce: which algorithm for which size and place.
///
/// | where               | small             | large                                           |
/// |---------------------|-------------------|-------------------------------------------------|
/// | one rank            | copy              | copy                                            |
/// | one host            | [OneRoundAllreduce] | [StagedAllreduce], or [InPlaceAllreduce] when it can |
/// | one rank per host   | links, in a copy  | links, in the caller's memory                   |
/// | several of each     | [StagedAllreduce] with one owner | the same with all owners         |
final class CpuAllreduce {
    /// From here on several owners share the network's work.
    private static final long MANY_OWNERS_BYTES = 64 * 1024;

    /// Up to here a copy costs less than sending from another place than the stamp.
    private static final long COPIED_BYTES = 64 * 1024;

    /// What one step of a ring should carry, and how much a piece may have for it.
    private static final long STEP_BYTES = 512 * 1024;

    private static final long MAX_PIECE_BYTES = 8 * 1024 * 1024;

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final long NOWHERE = -1;

    private final Neighbourhood near;
    private final Across across;
    private final CpuBarrier barrier;
    private final Scratch scratch;
    private final OneRoundAllreduce oneRound;
    private final StagedAllreduce staged;
    private final InPlaceAllreduce inPlace;

    CpuAllreduce(Neighbourhood near, Across across, CpuBarrier barrier, Scratch scratch) {
        this.near = near;
        this.across = across;
        this.barrier = barrier;
        this.scratch = scratch;
        this.oneRound = new OneRoundAllreduce(near, scratch.notice());
        this.staged = new StagedAllreduce(near);
        this.inPlace = new InPlaceAllreduce(near);
    }

    void run(long stamp, Reduction reduction, MemorySegment input, MemorySegment output) {
        long count = input.byteSize() / reduction.dataType().byteSize();
        if (across.isEmpty()) {
            if (near.size() == 1) {
                alone(reduction, input, output, count);
            } else if (oneRound.suits(input.byteSize())) {
                oneRound.run(stamp, reduction, input, output, count);
            } else {
                large(stamp, reduction, input, output, count);
            }
        } else if (across.isEverybody()) {
            overLinks(reduction, input, output, count);
        } else {
            near.meet(stamp);
            stage(stamp, reduction, input, count, output, new Window(0, count));
        }
    }

    /// Reduces through the stages, with the other hosts if there are any, after a meeting.
    void stage(
            long stamp,
            Reduction reduction,
            MemorySegment input,
            long count,
            MemorySegment output,
            Window window) {
        if (across.isEmpty()) {
            staged.run(reduction, near.size(), null, input, count, output, window);
        } else if (count == 0) {
            barrier.run(stamp); // there is no round in which the hosts would see that they agree
        } else {
            int owners = input.byteSize() < MANY_OWNERS_BYTES ? 1 : across.places();
            staged.run(reduction, owners, across::allreduce, input, count, output, window);
        }
    }

    private void large(
            long stamp,
            Reduction reduction,
            MemorySegment input,
            MemorySegment output,
            long count) {
        boolean same = input.equals(output);
        post(same ? near.memory().locate(input) : null);
        near.meet(stamp);
        MemorySegment @Nullable [] tensors = tensors(input);
        if (tensors == null) {
            stage(stamp, reduction, input, count, output, new Window(0, count));
        } else {
            inPlace.run(reduction, tensors, count);
        }
    }

    /// Writes into the next notice where this rank's tensor can be reached.
    private void post(@Nullable Place place) {
        MemorySegment mine = near.region(near.index());
        long payload = near.nextPayload();
        if (place == null) {
            mine.set(LONG, payload, NOWHERE);
        } else {
            mine.set(LONG, payload, place.block());
            mine.set(LONG, payload + 8, place.blockSize());
            mine.set(LONG, payload + 16, place.offset());
            mine.set(LONG, payload + 24, place.byteSize());
        }
    }

    /// Everybody's tensors, or null when one of them cannot be reached.
    private MemorySegment @Nullable [] tensors(MemorySegment own) {
        for (int member = 0; member < near.size(); member++) {
            if (near.region(member).get(LONG, near.payload()) == NOWHERE) {
                return null;
            }
        }
        MemorySegment[] tensors = new MemorySegment[near.size()];
        for (int member = 0; member < near.size(); member++) {
            MemorySegment region = near.region(member);
            long payload = near.payload();
            tensors[member] =
                    member == near.index()
                            ? own
                            : near.memory()
                                    .find(
                                            member,
                                            new Place(
                                                    region.get(LONG, payload),
                                                    region.get(LONG, payload + 8),
                                                    region.get(LONG, payload + 16),
                                                    region.get(LONG, payload + 24)));
        }
        return tensors;
    }

    private void alone(Reduction reduction, MemorySegment input, MemorySegment output, long count) {
        Scale scale = reduction.scale();
        if (scale.prescale() == 1.0 && scale.postscale() == 1.0) {
            copy(input, 0, output, 0, input.byteSize());
        } else {
            inPieces(
                    reduction,
                    input,
                    output,
                    count,
                    piece -> reduction.finish(piece.memory(), piece.offset(), piece.count()));
        }
    }

    /// Nobody shares memory with this rank: pieces go over links, one after the other. Their size is the
    /// same for all ranks, wherever a rank has its tensor.
    private void overLinks(
            Reduction reduction, MemorySegment input, MemorySegment output, long count) {
        // Two ranks see each other's stamp before they change anything; more could not tell in
        // time.
        if (input.byteSize() > COPIED_BYTES && (across.worldSize() > 2 || reduction.prescales())) {
            across.agree();
        }
        inPieces(reduction, input, output, count, across::allreduce);
    }

    /// Reduces a tensor piece by piece, at least one: where it is, or in a copy if it is short or lies on
    /// the heap.
    private void inPieces(
            Reduction reduction,
            MemorySegment input,
            MemorySegment output,
            long count,
            Consumer<Operands> reduce) {
        boolean copied = input.byteSize() <= COPIED_BYTES || !output.isNative();
        int byteSize = reduction.dataType().byteSize();
        long pieceElements = pieceBytes() / byteSize;
        MemorySegment memory =
                copied ? scratch.piece(Math.min(input.byteSize(), pieceBytes())) : output;
        for (long start = 0; start == 0 || start < count; start += pieceElements) {
            long elements = Math.min(pieceElements, count - start);
            long offset = start * byteSize;
            long place = copied ? 0 : offset;
            copy(input, offset, memory, place, elements * byteSize);
            reduction.prepare(memory, place, elements);
            reduce.accept(reduction.operands(memory, place, elements));
            copy(memory, place, output, offset, elements * byteSize);
        }
    }

    /// Long enough for every step of a ring, short enough for a copy to stay in a cache.
    private long pieceBytes() {
        return Math.min(MAX_PIECE_BYTES, across.worldSize() * STEP_BYTES);
    }

    private static void copy(
            MemorySegment source,
            long sourceOffset,
            MemorySegment target,
            long offset,
            long bytes) {
        if (sourceOffset != offset || !source.equals(target)) {
            MemorySegment.copy(source, sourceOffset, target, offset, bytes);
        }
    }
}
