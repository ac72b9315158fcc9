package org.horovod4j.collectives;

import org.horovod4j.AlltoallResult;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.algorithm.PairwiseExchange;
import org.horovod4j.collectives.algorithm.StagedAlltoall;
import org.horovod4j.collectives.algorithm.StagedAlltoall.Pieces;
import org.horovod4j.transport.LocalGroup;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;

/// Alltoall: through the stages within a host, pairwise exchanges between hosts.
final class CpuAlltoall {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;

    private final LocalGroup local;
    private final CrossGroup cross;
    private final StagedAlltoall staged;
    private final PairwiseExchange pairwise;

    CpuAlltoall(LocalGroup local, CrossGroup crossGroup) {
        this.local = local;
        this.cross = crossGroup;
        this.staged = new StagedAlltoall(local);
        this.pairwise =
                new PairwiseExchange(
                        crossGroup.pointToPoint(),
                        crossGroup.rank(),
                        crossGroup.size(),
                        local.ranks());
    }

    AlltoallResult run(long stamp, Tensor tensor, int[] splits) {
        List<Integer> ranks = local.ranks();
        postSplits(splits, ranks);
        local.barrier(stamp);
        int[] received = new int[cross.size()];
        int longest = readSplits(received, ranks);
        pairwise.exchangeInts(splits, received);
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
        return new AlltoallResult(output, received);
    }

    private void postSplits(int[] splits, List<Integer> ranks) {
        MemorySegment mine = local.region(local.index());
        long payload = local.nextPayloadOffset();
        for (int member = 0; member < ranks.size(); member++) {
            mine.set(INT, payload + 4L * member, splits[ranks.get(member)]);
        }
    }

    /// Fills in the rows that the ranks of this host send to this rank.
    ///
    /// @return the most rows that one rank of this host sends to another
    private int readSplits(int[] received, List<Integer> ranks) {
        int longest = 0;
        for (int member = 0; member < ranks.size(); member++) {
            MemorySegment region = local.region(member);
            received[ranks.get(member)] =
                    region.get(INT, local.payloadOffset() + 4L * local.index());
            for (int target = 0; target < ranks.size(); target++) {
                longest = Math.max(longest, region.get(INT, local.payloadOffset() + 4L * target));
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
