package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.PairwiseExchange;
import org.horovod4j.collectives.algorithm.RingAllgather;
import org.horovod4j.collectives.algorithm.StagedAllgather;
import org.horovod4j.collectives.algorithm.StagedAlltoall;
import org.horovod4j.collectives.algorithm.StagedAlltoall.Pieces;
import org.horovod4j.collectives.algorithm.StagedBroadcast;
import org.horovod4j.transport.LocalGroup;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// The data exchanges of an Adasum: shares to the ranks that calculate them, and results to all
/// ranks.
///
/// | exchange     | within a host      | between hosts                                          |
/// |--------------|--------------------|--------------------------------------------------------|
/// | [#alltoall]  | through the stages | pairwise between all ranks                             |
/// | [#allgather] | through the stages | ring of the hosts' first ranks, then local broadcast   |
final class AdasumExchange {
    private final LocalGroup local;
    private final CrossGroup cross;
    private final StagedAlltoall alltoall;
    private final PairwiseExchange pairwise;
    private final StagedAllgather gather;
    private final StagedBroadcast broadcast;

    AdasumExchange(LocalGroup local, CrossGroup crossGroup) {
        this.local = local;
        this.cross = crossGroup;
        this.alltoall = new StagedAlltoall(local);
        this.pairwise =
                new PairwiseExchange(
                        crossGroup.pointToPoint(),
                        crossGroup.rank(),
                        crossGroup.size(),
                        local.ranks());
        this.gather = new StagedAllgather(local);
        this.broadcast = new StagedBroadcast(local);
    }

    /// Sends each rank its piece of `source`, and receives this rank's piece of every other rank.
    /// Afterwards all ranks are known to agree on the stamp, because every rank has received a
    /// message from every other.
    ///
    /// @param longest the longest piece that any rank sends
    void alltoall(
            long stamp,
            MemorySegment source,
            Pieces out,
            MemorySegment target,
            Pieces in,
            long longest) {
        local.barrier(stamp);
        int rank = cross.rank();
        if (local.size() == 1) {
            MemorySegment.copy(source, out.start(rank), target, in.start(rank), out.size(rank));
        } else {
            List<Integer> ranks = local.ranks();
            alltoall.run(select(out, ranks), source, select(in, ranks), target, longest);
        }
        pairwise.run(source, out, target, in);
    }

    /// Fills `memory` with the pieces of all ranks.
    ///
    /// @param own this rank's piece
    /// @param pieces the position of each rank's piece in `memory`
    void allgather(MemorySegment own, MemorySegment memory, Pieces pieces) {
        Pieces localPieces = select(pieces, local.ranks());
        if (local.size() == 1) {
            MemorySegment.copy(own, 0, memory, localPieces.start(0), localPieces.size(0));
        } else {
            gather.run(
                    (first, count, stage, offset) ->
                            MemorySegment.copy(own, first, stage, offset, count),
                    sizes(localPieces, local.size()),
                    (member, stage, offset, first, count) ->
                            MemorySegment.copy(
                                    stage,
                                    offset,
                                    memory,
                                    localPieces.start(member) + first,
                                    count));
        }
        if (!cross.isSingleDomain()) {
            allgatherAcrossHosts(memory, pieces);
        }
    }

    private void allgatherAcrossHosts(MemorySegment memory, Pieces pieces) {
        int size = cross.size();
        if (local.index() == 0) {
            new RingAllgather(cross.group())
                    .run(memory, cross.domains(), starts(pieces, size), sizes(pieces, size));
        }
        if (local.size() > 1) {
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
