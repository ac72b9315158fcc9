package org.horovod4j.collectives.algorithm;

import org.horovod4j.collectives.algorithm.StagedAlltoall.Pieces;
import org.horovod4j.transport.Sink;
import org.horovod4j.transport.Wire;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// Every rank exchanges with every rank of other hosts: in step `d` it sends to the one `d` above
/// it and receives from the one `d` below.
///
/// | steps   | bytes sent by each rank        |
/// |---------|--------------------------------|
/// | `n - 1` | what it has for other hosts    |
public final class PairwiseExchange {
    private final Wire wire;
    private final int rank;
    private final int size;
    private final List<Integer> near;

    /// @param near the ranks that are reached in another way
    public PairwiseExchange(Wire wire, int rank, int size, List<Integer> near) {
        this.wire = wire;
        this.rank = rank;
        this.size = size;
        this.near = List.copyOf(near);
    }

    /// Exchanges one number with each other rank.
    public void ints(int[] out, int[] in) {
        long[] starts = new long[size];
        long[] sizes = new long[size];
        for (int peer = 0; peer < size; peer++) {
            starts[peer] = (long) peer * Integer.BYTES;
            sizes[peer] = Integer.BYTES;
        }
        Pieces places = new Pieces(starts, sizes);
        run(MemorySegment.ofArray(out), places, MemorySegment.ofArray(in), places);
    }

    /// Exchanges a piece of bytes with each other rank.
    public void run(MemorySegment out, Pieces outPieces, MemorySegment in, Pieces inPieces) {
        for (int distance = 1; distance < size; distance++) {
            int target = (rank + distance) % size;
            int source = Math.floorMod(rank - distance, size);
            long start = outPieces.start(target);
            long length = outPieces.size(target);
            Sink sink = Sink.into(in, inPieces.start(source), inPieces.size(source));
            boolean sends = !near.contains(target);
            boolean receives = !near.contains(source);
            if (sends && receives) {
                wire.exchange(target, out, start, length, source, sink);
            } else if (sends) {
                wire.send(target, out, start, length);
            } else if (receives) {
                wire.receive(source, sink);
            }
        }
    }
}
