package org.horovod4j.collectives.algorithm;

import org.horovod4j.collectives.algorithm.StagedAlltoall.Pieces;
import org.horovod4j.transport.IncomingMessage;
import org.horovod4j.transport.MessageSink;
import org.horovod4j.transport.OutgoingMessage;
import org.horovod4j.transport.PointToPoint;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// Every rank exchanges with every rank of other hosts: in step `d` it sends to rank `r + d` and
/// receives from rank `r - d`.
///
/// | steps   | bytes sent by each rank        |
/// |---------|--------------------------------|
/// | `n - 1` | all data for other hosts       |
public final class PairwiseExchange {
    private final PointToPoint pointToPoint;
    private final int rank;
    private final int size;
    private final List<Integer> localRanks;

    /// @param localRanks the ranks of this host, which are skipped
    public PairwiseExchange(
            PointToPoint pointToPoint, int rank, int size, List<Integer> localRanks) {
        this.pointToPoint = pointToPoint;
        this.rank = rank;
        this.size = size;
        this.localRanks = List.copyOf(localRanks);
    }

    /// Exchanges one `int` with each other rank.
    public void exchangeInts(int[] out, int[] in) {
        long[] starts = new long[size];
        long[] sizes = new long[size];
        for (int peer = 0; peer < size; peer++) {
            starts[peer] = (long) peer * Integer.BYTES;
            sizes[peer] = Integer.BYTES;
        }
        Pieces pieces = new Pieces(starts, sizes);
        run(MemorySegment.ofArray(out), pieces, MemorySegment.ofArray(in), pieces);
    }

    /// Exchanges one piece of bytes with each other rank.
    public void run(MemorySegment out, Pieces outPieces, MemorySegment in, Pieces inPieces) {
        openLinks();
        for (int distance = 1; distance < size; distance++) {
            int target = target(distance);
            if (!localRanks.contains(target)) {
                OutgoingMessage _ =
                        pointToPoint.startSend(
                                target, out, outPieces.start(target), outPieces.size(target));
            }
            int source = source(distance);
            if (!localRanks.contains(source)) {
                IncomingMessage _ =
                        pointToPoint.startReceive(
                                source,
                                MessageSink.into(
                                        in, inPieces.start(source), inPieces.size(source)));
            }
        }
        pointToPoint.awaitAll();
    }

    private void openLinks() {
        for (int distance = 1; distance < size; distance++) {
            if (!localRanks.contains(target(distance))) {
                pointToPoint.open(target(distance));
            }
        }
    }

    private int target(int distance) {
        return (rank + distance) % size;
    }

    private int source(int distance) {
        return Math.floorMod(rank - distance, size);
    }
}
