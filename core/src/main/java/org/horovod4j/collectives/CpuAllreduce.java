package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.HelperThreads;
import org.horovod4j.collectives.algorithm.InPlaceAllreduce;
import org.horovod4j.collectives.algorithm.OneRoundAllreduce;
import org.horovod4j.collectives.algorithm.Operands;
import org.horovod4j.collectives.algorithm.OwnPartAllreduce;
import org.horovod4j.collectives.algorithm.ScaledReduction;
import org.horovod4j.collectives.algorithm.ScatterSections;
import org.horovod4j.collectives.algorithm.StagedAllreduce;
import org.horovod4j.collectives.algorithm.StagedReducescatter;
import org.horovod4j.spi.Activity;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.function.ToLongFunction;

/// Allreduce and reducescatter. Selects the algorithm by size and by the location of the ranks:
///
/// | ranks           | small                       | large                                      |
/// |-----------------|-----------------------------|--------------------------------------------|
/// | one             | copy                        | copy                                       |
/// | on one host     | [OneRoundAllreduce]         | [InPlaceAllreduce], [OwnPartAllreduce] or [StagedAllreduce] |
/// | one per host    | over links, in a copy       | over links, one tensor in place            |
/// | several per host| [StagedAllreduce], one owner| [StagedAllreduce], several owners          |
///
/// [InPlaceAllreduce] is used if all tensors lie in shared memory on every rank. [OwnPartAllreduce]
/// is used for operations without helper threads: of few ranks, and of more where [StreamingTrials]
/// finds streaming stores faster. An *owner* is a rank that reduces a part for its host, and exchanges
/// that part with the owners on other hosts.
final class CpuAllreduce {
    /// From this size on several owners per host exchange data with other hosts.
    private static final long MANY_OWNERS_BYTES = 64 * 1024;

    /// Up to this size, copying the data next to its stamp costs less than a second send call.
    private static final long COPIED_BYTES = 64 * 1024;

    /// The bytes that one step of a ring should send.
    private static final long STEP_BYTES = 512 * 1024;

    /// The largest piece, also if the steps of a ring then send less.
    private static final long MAX_PIECE_BYTES = 8 * 1024 * 1024;

    /// The size of the largest element type. The sizes of two parts differ by at most one element.
    private static final long ELEMENT_BYTES = 8;

    /// Where the notice of a large allreduce has the number of threads of its rank.
    private static final long THREADS_OFFSET = SharedTensorLocator.PAYLOAD_BYTES;

    /// Where the notice has a [CopyingMethod]. That of member 0 decides.
    private static final long METHOD_OFFSET = THREADS_OFFSET + Long.BYTES;

    /// The most ranks of a host for [OwnPartAllreduce] with ordinary stores. It saves one copy of a part,
    /// and the more ranks there are, the smaller a part is.
    private static final int MAX_OWN_PART_RANKS = 4;

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;

    private final LocalGroup local;
    private final CrossGroup cross;
    private final CpuBarrier barrier;
    private final ScratchMemory scratchMemory;
    private final ActivityRecorder activityRecorder;
    private final OneRoundAllreduce oneRound;
    private final StagedAllreduce staged;
    private final OwnPartAllreduce ownPart;
    private final StreamingTrials streamingTrials;
    private final StagedReducescatter stagedReducescatter;
    private final InPlaceAllreduce inPlace;
    private final SharedTensorLocator sharedTensors;
    private final HelperThreads helpers;

    CpuAllreduce(
            LocalGroup local,
            CrossGroup crossGroup,
            CpuBarrier barrier,
            ScratchMemory scratchMemory,
            ActivityRecorder activityRecorder,
            HelperThreads helpers,
            OwnPartAllreduce ownPart,
            StreamingTrials streamingTrials) {
        this.local = local;
        this.cross = crossGroup;
        this.barrier = barrier;
        this.scratchMemory = scratchMemory;
        this.activityRecorder = activityRecorder;
        this.oneRound = new OneRoundAllreduce(local, scratchMemory.notice(), activityRecorder);
        this.staged = new StagedAllreduce(local, activityRecorder, helpers);
        this.stagedReducescatter = new StagedReducescatter(local, activityRecorder);
        this.inPlace = new InPlaceAllreduce(local, activityRecorder, helpers);
        this.sharedTensors = new SharedTensorLocator(local);
        this.helpers = helpers;
        this.ownPart = ownPart;
        this.streamingTrials = streamingTrials;
    }

    void run(long stamp, ScaledReduction reduction, FusedTensors fusedTensors) {
        if (cross.isSingleDomain()) {
            if (local.size() == 1) {
                runSingleRank(reduction, fusedTensors);
            } else if (oneRound.supports(fusedTensors.byteSize())) {
                oneRound.run(stamp, reduction, fusedTensors);
            } else {
                runLargeOnHost(stamp, reduction, fusedTensors);
            }
        } else if (cross.hasOneRankPerDomain()) {
            runOverLinks(reduction, fusedTensors);
        } else {
            localBarrier(stamp);
            helpers.begin(fusedTensors);
            runStaged(stamp, reduction, 1, fusedTensors);
        }
    }

    /// Reducescatter. Within a host it is an allreduce in which each rank copies only its own output
    /// ranges out. Between hosts it is a [StagedReducescatter].
    void reducescatter(long stamp, ScaledReduction reduction, FusedTensors fusedTensors) {
        local.barrier(stamp);
        boolean isBetweenHosts = !cross.isSingleDomain() && fusedTensors.elementCount() > 0;
        if (isBetweenHosts && fusedTensors.isScattered()) {
            stagedReducescatter.run(
                    reduction,
                    owners(fusedTensors),
                    cross.group(),
                    cross.domainIndex(),
                    ScatterSections.of(fusedTensors, cross.domains(), cross.size()));
        } else {
            helpers.begin(fusedTensors);
            runStaged(stamp, reduction, 1, fusedTensors);
        }
    }

    /// A barrier of the ranks on this host.
    private void localBarrier(long stamp) {
        long since = activityRecorder.begin();
        local.barrier(stamp);
        activityRecorder.end(Activity.WAIT_FOR_DATA, since);
    }

    /// Reduces through the stages, and with the other hosts if there are any. The caller has passed
    /// a local barrier.
    private void runStaged(
            long stamp, ScaledReduction reduction, int threads, FusedTensors fusedTensors) {
        if (cross.isSingleDomain()) {
            staged.run(reduction, local.size(), threads, null, fusedTensors);
        } else if (fusedTensors.elementCount() == 0) {
            barrier.run(stamp); // an empty collective sends nothing, so compare stamps here
        } else {
            staged.run(reduction, owners(fusedTensors), threads, cross, fusedTensors);
        }
    }

    /// How many ranks of each host exchange data with other hosts.
    private int owners(FusedTensors fusedTensors) {
        return fusedTensors.byteSize() < MANY_OWNERS_BYTES ? 1 : cross.smallestDomainSize();
    }

    /// The largest size for which no ring is used between hosts. A ring adds the ranks' values in
    /// an order that depends on the position of the element, so fusion can change the result. All
    /// other algorithms add in the same order for every element.
    long reproducibleFusionBytes() {
        long part = cross.maxBytesWithoutRing();
        if (cross.isSingleDomain() || part >= maxPartBytes()) {
            return Long.MAX_VALUE;
        }
        return part < MANY_OWNERS_BYTES
                ? part
                : (part - ELEMENT_BYTES) * cross.smallestDomainSize();
    }

    /// The most bytes that one call reduces between hosts.
    private long maxPartBytes() {
        return cross.hasOneRankPerDomain()
                ? pieceBytes()
                : Math.max(
                        MANY_OWNERS_BYTES,
                        RegionLayout.STAGE_BYTES / cross.smallestDomainSize() + ELEMENT_BYTES);
    }

    /// The algorithms by size, for the log.
    String describe() {
        if (cross.isSingleDomain()) {
            return local.size() == 1
                    ? "a copy"
                    : "OneRoundAllreduce up to %d bytes, above InPlaceAllreduce for tensors in shared memory, else OwnPartAllreduce or StagedAllreduce"
                            .formatted(oneRound.maxBytes());
        }
        return (cross.hasOneRankPerDomain() ? "" : "StagedAllreduce in a host; between hosts ")
                + cross.describeAllreduce();
    }

    void tune(Tuning tuning) {
        staged.setRoundBytes(tuning.roundBytes());
        ownPart.setRoundBytes(tuning.roundBytes());
    }

    void reset() {
        sharedTensors.reset();
    }

    private void runLargeOnHost(long stamp, ScaledReduction reduction, FusedTensors fusedTensors) {
        sharedTensors.post(fusedTensors);
        int ownThreads = helpers.begin(fusedTensors);
        boolean decides = local.index() == 0 && ownThreads == 1 && !reduction.prescales();
        CopyingMethod ownChoice = decides ? chooseMethod(fusedTensors) : CopyingMethod.STAGED;
        long notice = local.nextPayloadOffset();
        MemorySegment mine = local.region(local.index());
        mine.set(LONG, notice + THREADS_OFFSET, ownThreads);
        mine.set(LONG, notice + METHOD_OFFSET, ownChoice.ordinal());
        localBarrier(stamp);
        int threads = fewestThreads();
        CopyingMethod method =
                CopyingMethod.of(local.region(0).get(LONG, local.payloadOffset() + METHOD_OFFSET));
        MemorySegment @Nullable [][] tensors = sharedTensors.resolve(fusedTensors);
        if (tensors != null) {
            inPlace.run(reduction, fusedTensors, tensors);
        } else if (decides) {
            long start = local.clock().nanoTime();
            runThroughStages(method, stamp, reduction, threads, fusedTensors);
            streamingTrials.completed(fusedTensors, local.clock().nanoTime() - start);
        } else {
            runThroughStages(method, stamp, reduction, threads, fusedTensors);
        }
    }

    private CopyingMethod chooseMethod(FusedTensors fusedTensors) {
        if (streamingTrials.usesStreamingStores(fusedTensors)) {
            return CopyingMethod.OWN_PART_STREAMED;
        }
        return local.size() <= MAX_OWN_PART_RANKS ? CopyingMethod.OWN_PART : CopyingMethod.STAGED;
    }

    private void runThroughStages(
            CopyingMethod method,
            long stamp,
            ScaledReduction reduction,
            int threads,
            FusedTensors fusedTensors) {
        switch (method) {
            case STAGED -> runStaged(stamp, reduction, threads, fusedTensors);
            case OWN_PART -> ownPart.run(reduction, false, fusedTensors);
            case OWN_PART_STREAMED -> ownPart.run(reduction, true, fusedTensors);
        }
    }

    /// The number of threads of the rank that has the fewest for the current collective.
    private int fewestThreads() {
        long fewest = Long.MAX_VALUE;
        for (int member = 0; member < local.size(); member++) {
            long threads = local.region(member).get(LONG, local.payloadOffset() + THREADS_OFFSET);
            fewest = Math.min(fewest, threads);
        }
        return (int) fewest;
    }

    private void runSingleRank(ScaledReduction reduction, FusedTensors fusedTensors) {
        if (reduction.isIdentity()) {
            fusedTensors.copy();
        } else {
            reduceInCopies(
                    reduction,
                    fusedTensors,
                    piece -> {
                        reduction.postscale(piece.memory(), piece.offset(), piece.count());
                        return 0;
                    });
        }
    }

    /// Reduces piece by piece over links, among the ranks with this rank's index in their domains: all
    /// ranks, if no two of them share memory. The piece size is the same on all ranks, wherever their
    /// tensors lie.
    void runOverLinks(ScaledReduction reduction, FusedTensors fusedTensors) {
        boolean isLargeSingle =
                fusedTensors.tensorCount() == 1 && fusedTensors.byteSize() > COPIED_BYTES;
        // No tensor may change before all ranks have started. Two ranks exchange stamps before they
        // reduce. More ranks, and ranks that prescale their output first, need a barrier.
        boolean hasBarrier = isLargeSingle && (cross.size() > 2 || reduction.prescales());
        if (hasBarrier) {
            cross.barrier();
        }
        boolean canReduceInOutput = isLargeSingle && fusedTensors.output(0).isNative();
        if (canReduceInOutput && (hasBarrier || fusedTensors.isInPlace())) {
            reduceInOutput(reduction, fusedTensors);
        } else {
            reduceInCopies(reduction, fusedTensors, cross::start);
        }
    }

    /// Reduces the only tensor piece by piece in its output memory. The messages of two pieces are on
    /// their way at a time.
    private void reduceInOutput(ScaledReduction reduction, FusedTensors fusedTensors) {
        MemorySegment output = fusedTensors.output(0);
        fusedTensors.copy();
        int byteSize = reduction.dataType().byteSize();
        long pieceElements = pieceBytes() / byteSize;
        long previous = 0;
        for (long start = 0; start < fusedTensors.elementCount(); start += pieceElements) {
            long elements = Math.min(pieceElements, fusedTensors.elementCount() - start);
            reduction.prescale(output, start * byteSize, elements);
            long since = activityRecorder.begin();
            long started = cross.start(reduction.operands(output, start * byteSize, elements));
            cross.await(previous);
            activityRecorder.end(Activity.TCP_ALLREDUCE, since);
            previous = started;
        }
        cross.await(previous);
    }

    /// Reduces the tensors piece by piece in scratch memory. Used for small tensors, for tensors on
    /// the heap, and for tensors that must not change before all ranks have started. An empty
    /// collective is one empty piece, so that ranks still compare stamps.
    ///
    /// The messages of two pieces are in flight at a time.
    ///
    /// @param reduce starts to reduce a piece, and returns what to await
    private void reduceInCopies(
            ScaledReduction reduction, FusedTensors fusedTensors, ToLongFunction<Operands> reduce) {
        long count = fusedTensors.elementCount();
        int byteSize = reduction.dataType().byteSize();
        long pieceElements = Math.min(pieceBytes() / byteSize, count);
        long pieces = count == 0 ? 1 : (count + pieceElements - 1) / pieceElements;
        MemorySegment memory = scratchMemory.piece(Math.min(pieces, 2) * pieceElements * byteSize);
        long previous = 0;
        for (long piece = 0; piece <= pieces; piece++) {
            long since = activityRecorder.begin();
            long started = 0;
            if (piece < pieces) {
                long start = piece * pieceElements;
                long elements = Math.min(pieceElements, count - start);
                long offset = piece % 2 * pieceElements * byteSize;
                fusedTensors.pack(start, elements, memory, offset);
                reduction.prescale(memory, offset, elements);
                since = activityRecorder.end(Activity.MEMCPY_IN_FUSION_BUFFER, since);
                started = reduce.applyAsLong(reduction.operands(memory, offset, elements));
            }
            cross.await(previous);
            since = activityRecorder.end(reduceActivity(), since);
            if (piece > 0) {
                long start = (piece - 1) * pieceElements;
                long elements = Math.min(pieceElements, count - start);
                long offset = (piece - 1) % 2 * pieceElements * byteSize;
                fusedTensors.unpack(memory, offset, start, elements);
                activityRecorder.end(Activity.MEMCPY_OUT_FUSION_BUFFER, since);
            }
            previous = started;
        }
    }

    /// The activity that a trace shows for a reduction in a copy.
    private Activity reduceActivity() {
        return cross.isSingleDomain() ? Activity.SHM_ALLREDUCE : Activity.TCP_ALLREDUCE;
    }

    /// The size of a piece: large enough for the steps of a ring, small enough to stay in a cache.
    private long pieceBytes() {
        return Math.min(MAX_PIECE_BYTES, cross.size() * STEP_BYTES);
    }

    /// How a large allreduce within a host copies tensors that are not in shared memory.
    private enum CopyingMethod {
        /// [StagedAllreduce]
        STAGED,

        /// [OwnPartAllreduce]
        OWN_PART,

        /// [OwnPartAllreduce] with streaming stores
        OWN_PART_STREAMED;

        private static final List<CopyingMethod> ALL = List.of(values());

        /// @param ordinal as in a notice
        static CopyingMethod of(long ordinal) {
            return ALL.get((int) ordinal);
        }
    }
}
