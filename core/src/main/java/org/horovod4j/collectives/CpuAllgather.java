package org.horovod4j.collectives;

import org.horovod4j.HorovodException;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.algorithm.RingAllgather;
import org.horovod4j.collectives.algorithm.StagedBroadcast;
import org.horovod4j.collectives.algorithm.StagedGather;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/// Allgather: the ranks first tell each other how many rows they bring, because these may differ.
///
/// Inside a host, short tensors travel in the notice that tells their size, longer ones through the
/// stages. Between hosts, the leaders pass their hosts' tensors round a ring and hand them on inside.
final class CpuAllgather {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final long INLINE_BYTES = Region.NOTICE_BYTES - Long.BYTES;

    private final Neighbourhood near;
    private final Across across;
    private final StagedGather gather;
    private final StagedBroadcast broadcast;

    CpuAllgather(Neighbourhood near, Across across) {
        this.near = near;
        this.across = across;
        this.gather = new StagedGather(near);
        this.broadcast = new StagedBroadcast(near);
    }

    Tensor run(long stamp, Tensor tensor) {
        return across.isEmpty() ? inside(stamp, tensor) : between(stamp, tensor);
    }

    private Tensor inside(long stamp, Tensor tensor) {
        postRows(tensor.shape().dimension(0));
        if (tensor.byteSize() <= INLINE_BYTES) {
            MemorySegment.copy(
                    tensor.segment(),
                    0,
                    near.region(near.index()),
                    near.nextPayload() + Long.BYTES,
                    tensor.byteSize());
        }
        near.meet(stamp);
        Layout layout = new Layout(tensor, nearRows());
        Tensor output = layout.output();
        long[] staged = layout.sizes.clone();
        for (int member = 0; member < staged.length; member++) {
            if (staged[member] <= INLINE_BYTES) {
                MemorySegment.copy(
                        near.region(member),
                        near.payload() + Long.BYTES,
                        output.segment(),
                        layout.starts[member],
                        staged[member]);
                staged[member] = 0;
            }
        }
        gather.run(tensor.segment(), staged, output.segment(), layout.starts);
        return output;
    }

    private Tensor between(long stamp, Tensor tensor) {
        postRows(tensor.shape().dimension(0));
        near.meet(stamp);
        Layout layout = new Layout(tensor, allRows(stamp));
        Tensor output = layout.output();
        MemorySegment memory = output.segment();
        gather.run(
                tensor.segment(), layout.sizes(near.ranks()), memory, layout.starts(near.ranks()));
        if (near.index() == 0) {
            new RingAllgather(across.parallel())
                    .run(memory, across.domains(), layout.starts, layout.sizes);
        }
        if (near.size() > 1) {
            for (int domain = 0; domain < across.domains().size(); domain++) {
                if (domain != across.domainIndex()) {
                    across.domains().get(domain).forEach(rank -> handOn(memory, layout, rank));
                }
            }
        }
        return output;
    }

    /// Gives the other ranks of this host what their leader has received.
    private void handOn(MemorySegment memory, Layout layout, int rank) {
        long start = layout.starts[rank];
        StagedBroadcast.Source source =
                (position, count, region, stage) ->
                        MemorySegment.copy(memory, start + position, region, stage, count);
        broadcast.run(0, source, memory, start, layout.sizes[rank]);
    }

    private void postRows(long rows) {
        near.region(near.index()).set(LONG, near.nextPayload(), rows);
    }

    private long[] nearRows() {
        long[] rows = new long[near.size()];
        for (int member = 0; member < rows.length; member++) {
            rows[member] = near.region(member).get(LONG, near.payload());
        }
        return rows;
    }

    /// Everybody's rows, by rank: the leaders exchange those of their hosts and post them all.
    private long[] allRows(long stamp) {
        int size = across.worldSize();
        if ((long) size * Long.BYTES > Region.NOTICE_BYTES) {
            throw new HorovodException(
                    "allgather over several hosts takes at most %d ranks, not %d"
                            .formatted(Region.NOTICE_BYTES / Long.BYTES, size));
        }
        long[] starts = new long[size];
        long[] sizes = new long[size];
        for (int rank = 0; rank < size; rank++) {
            starts[rank] = (long) rank * Long.BYTES;
            sizes[rank] = Long.BYTES;
        }
        long[] mine = nearRows();
        MemorySegment leader = near.region(0);
        if (near.index() == 0) {
            MemorySegment table = leader.asSlice(near.nextPayload(), (long) size * Long.BYTES);
            for (int member = 0; member < mine.length; member++) {
                table.set(LONG, starts[near.ranks().get(member)], mine[member]);
            }
            new RingAllgather(across.parallel()).run(table, across.domains(), starts, sizes);
        }
        near.meet(stamp);
        long[] rows = new long[size];
        for (int rank = 0; rank < size; rank++) {
            rows[rank] = leader.get(LONG, near.payload() + starts[rank]);
        }
        return rows;
    }

    /// Where each rank's tensor goes in the output.
    private static final class Layout {
        private final Tensor tensor;
        private final long[] starts;
        private final long[] sizes;
        private final long rows;

        Layout(Tensor tensor, long[] rowsByRank) {
            this.tensor = tensor;
            this.starts = new long[rowsByRank.length];
            this.sizes = new long[rowsByRank.length];
            long rowBytes = tensor.shape().rowElements() * tensor.dataType().byteSize();
            long sum = 0;
            for (int rank = 0; rank < rowsByRank.length; rank++) {
                starts[rank] = sum * rowBytes;
                sizes[rank] = rowsByRank[rank] * rowBytes;
                sum += rowsByRank[rank];
            }
            this.rows = sum;
        }

        Tensor output() {
            return Tensor.zeros(tensor.dataType(), tensor.shape().withRows(rows));
        }

        long[] sizes(List<Integer> ranks) {
            return ranks.stream().mapToLong(rank -> sizes[rank]).toArray();
        }

        long[] starts(List<Integer> ranks) {
            return ranks.stream().mapToLong(rank -> starts[rank]).toArray();
        }
    }
}
