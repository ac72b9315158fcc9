package org.horovod4j.collectives;

import org.horovod4j.Received;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.algorithm.PairwiseExchange;
import org.horovod4j.collectives.algorithm.StagedAlltoall;
import org.horovod4j.collectives.algorithm.StagedAlltoall.Pieces;
import org.horovod4j.transport.Neighbourhood;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;

/// Alltoall: the ranks of a host through the stages, all others pair by pair.
final class CpuAlltoall {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;

    private final Neighbourhood near;
    private final Across across;
    private final StagedAlltoall staged;
    private final PairwiseExchange pairwise;

    CpuAlltoall(Neighbourhood near, Across across) {
        this.near = near;
        this.across = across;
        this.staged = new StagedAlltoall(near);
        this.pairwise =
                new PairwiseExchange(
                        across.wire(), across.rank(), across.worldSize(), near.ranks());
    }

    Received run(long stamp, Tensor tensor, int[] splits) {
        List<Integer> ranks = near.ranks();
        postSplits(splits, ranks);
        near.meet(stamp);
        int[] received = new int[across.worldSize()];
        int longest = readSplits(received, ranks);
        pairwise.ints(splits, received);
        long rowBytes = tensor.shape().rowElements() * tensor.dataType().byteSize();
        Pieces out = pieces(splits, rowBytes);
        Pieces in = pieces(received, rowBytes);
        long rows = Arrays.stream(received).asLongStream().sum();
        Tensor output = Tensor.zeros(tensor.dataType(), tensor.shape().withRows(rows));
        MemorySegment target = output.segment();
        staged.run(
                select(out, ranks),
                tensor.segment(),
                select(in, ranks),
                target,
                longest * rowBytes);
        pairwise.run(tensor.segment(), out, target, in);
        return new Received(output, received);
    }

    private void postSplits(int[] splits, List<Integer> ranks) {
        MemorySegment mine = near.region(near.index());
        long payload = near.nextPayload();
        for (int member = 0; member < ranks.size(); member++) {
            mine.set(INT, payload + 4L * member, splits[ranks.get(member)]);
        }
    }

    /// Fills in what the ranks of this host send to this one.
    ///
    /// @return the most rows that any rank of this host sends to another
    private int readSplits(int[] received, List<Integer> ranks) {
        int longest = 0;
        for (int member = 0; member < ranks.size(); member++) {
            MemorySegment region = near.region(member);
            received[ranks.get(member)] = region.get(INT, near.payload() + 4L * near.index());
            for (int target = 0; target < ranks.size(); target++) {
                longest = Math.max(longest, region.get(INT, near.payload() + 4L * target));
            }
        }
        return longest;
    }

    private static Pieces pieces(int[] rows, long rowBytes) {
        long[] starts = new long[rows.length];
        long[] sizes = new long[rows.length];
        long sum = 0;
        for (int rank = 0; rank < rows.length; rank++) {
            starts[rank] = sum;
            sizes[rank] = rows[rank] * rowBytes;
            sum += sizes[rank];
        }
        return new Pieces(starts, sizes);
    }

    private static Pieces select(Pieces pieces, List<Integer> ranks) {
        return new Pieces(
                ranks.stream().mapToLong(pieces::start).toArray(),
                ranks.stream().mapToLong(pieces::size).toArray());
    }
}
