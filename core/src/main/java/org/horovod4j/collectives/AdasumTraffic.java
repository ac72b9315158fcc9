package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.PairwiseExchange;
import org.horovod4j.collectives.algorithm.RingAllgather;
import org.horovod4j.collectives.algorithm.StagedAlltoall;
import org.horovod4j.collectives.algorithm.StagedAlltoall.Pieces;
import org.horovod4j.collectives.algorithm.StagedBroadcast;
import org.horovod4j.collectives.algorithm.StagedGather;
import org.horovod4j.transport.Neighbourhood;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// How the bytes of an Adasum travel: shares to those who calculate them, and results to everybody.
///
/// | what      | inside a host      | between hosts                                           |
/// |-----------|--------------------|---------------------------------------------------------|
/// | [#deal]   | through the stages | every rank with every rank                              |
/// | [#gather] | through the stages | the leaders pass it round a ring and hand it on inside  |
final class AdasumTraffic {
    private final Neighbourhood near;
    private final Across across;
    private final StagedAlltoall alltoall;
    private final PairwiseExchange pairwise;
    private final StagedGather gather;
    private final StagedBroadcast broadcast;

    AdasumTraffic(Neighbourhood near, Across across) {
        this.near = near;
        this.across = across;
        this.alltoall = new StagedAlltoall(near);
        this.pairwise =
                new PairwiseExchange(
                        across.wire(), across.rank(), across.worldSize(), near.ranks());
        this.gather = new StagedGather(near);
        this.broadcast = new StagedBroadcast(near);
    }

    /// Gives each rank its piece of this rank's bytes, and takes this rank's piece of all others'.
    /// Afterwards all ranks are known to agree on the stamp: each has heard from each.
    ///
    /// @param longest the longest piece that any rank sends
    void deal(
            long stamp,
            MemorySegment source,
            Pieces out,
            MemorySegment target,
            Pieces in,
            long longest) {
        near.meet(stamp);
        int rank = across.rank();
        if (near.size() == 1) {
            MemorySegment.copy(source, out.start(rank), target, in.start(rank), out.size(rank));
        } else {
            List<Integer> ranks = near.ranks();
            alltoall.run(select(out, ranks), source, select(in, ranks), target, longest);
        }
        pairwise.run(source, out, target, in);
    }

    /// Completes `memory` with everybody's pieces.
    ///
    /// @param own this rank's piece, wherever it lies
    /// @param pieces where each rank's piece goes
    void gather(MemorySegment own, MemorySegment memory, Pieces pieces) {
        Pieces inside = select(pieces, near.ranks());
        if (near.size() == 1) {
            MemorySegment.copy(own, 0, memory, inside.start(0), inside.size(0));
        } else {
            gather.run(
                    (first, count, stage, offset) ->
                            MemorySegment.copy(own, first, stage, offset, count),
                    sizes(inside, near.size()),
                    (member, stage, offset, first, count) ->
                            MemorySegment.copy(
                                    stage, offset, memory, inside.start(member) + first, count));
        }
        if (!across.isEmpty()) {
            gatherAcross(memory, pieces);
        }
    }

    private void gatherAcross(MemorySegment memory, Pieces pieces) {
        int size = across.worldSize();
        if (near.index() == 0) {
            new RingAllgather(across.parallel())
                    .run(memory, across.domains(), starts(pieces, size), sizes(pieces, size));
        }
        if (near.size() > 1) {
            broadcast.run(
                    0,
                    (position, count, region, stage) ->
                            MemorySegment.copy(memory, position, region, stage, count),
                    memory,
                    0,
                    memory.byteSize());
        }
    }

    private static Pieces select(Pieces pieces, List<Integer> ranks) {
        return new Pieces(
                ranks.stream().mapToLong(pieces::start).toArray(),
                ranks.stream().mapToLong(pieces::size).toArray());
    }

    private static long[] starts(Pieces pieces, int count) {
        long[] starts = new long[count];
        for (int i = 0; i < count; i++) {
            starts[i] = pieces.start(i);
        }
        return starts;
    }

    private static long[] sizes(Pieces pieces, int count) {
        long[] sizes = new long[count];
        for (int i = 0; i < count; i++) {
            sizes[i] = pieces.size(i);
        }
        return sizes;
    }
}
