package org.horovod4j.collectives;

import org.horovod4j.Tensor;
import org.horovod4j.collectives.algorithm.RingAllgather;
import org.horovod4j.collectives.algorithm.StagedBroadcast;
import org.horovod4j.collectives.algorithm.StagedGather;
import org.horovod4j.spi.Bundle;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/// Allgather: the ranks first tell each other how many rows they bring, because these may differ.
///
/// Inside a host, short tensors travel in the notice that tells their rows, longer ones through the
/// stages. Between hosts, the leaders pass their hosts' tensors round a ring and hand them on
/// inside. Several tensors travel as one: see [GatherLayout].
final class CpuAllgather {
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

    List<Tensor> run(long stamp, List<Tensor> tensors) {
        if (!across.isEmpty()) {
            return between(stamp, tensors);
        }
        return (long) tensors.size() * Long.BYTES <= Region.NOTICE_BYTES
                ? inside(stamp, tensors)
                : insideWithManyTensors(stamp, tensors);
    }

    /// Posts the rows of each tensor and, where there is room, the tensors themselves.
    private List<Tensor> inside(long stamp, List<Tensor> tensors) {
        long headBytes = (long) tensors.size() * Long.BYTES;
        MemorySegment mine = near.region(near.index());
        MemorySegment.copy(rows(tensors), 0, mine, near.nextPayload(), headBytes);
        if (headBytes + byteSize(tensors) <= Region.NOTICE_BYTES) {
            long at = near.nextPayload() + headBytes;
            for (Tensor tensor : tensors) {
                MemorySegment.copy(tensor.segment(), 0, mine, at, tensor.byteSize());
                at += tensor.byteSize();
            }
        }
        near.meet(stamp);
        long[] rows = new long[tensors.size() * near.size()];
        MemorySegment table = MemorySegment.ofArray(rows);
        for (int member = 0; member < near.size(); member++) {
            MemorySegment.copy(
                    near.region(member), near.payload(), table, member * headBytes, headBytes);
        }
        GatherLayout layout = new GatherLayout(tensors, near.index(), rows);
        long[] staged = layout.sizes().clone();
        for (int member = 0; member < staged.length; member++) {
            if (headBytes + staged[member] <= Region.NOTICE_BYTES) {
                long payload = near.payload() + headBytes;
                layout.blob(member).unpack(near.region(member), payload, 0, staged[member]);
                staged[member] = 0;
            }
        }
        stage(layout, staged);
        return layout.outputs();
    }

    /// The rows of so many tensors do not fit into a notice.
    private List<Tensor> insideWithManyTensors(long stamp, List<Tensor> tensors) {
        near.meet(stamp);
        GatherLayout layout = new GatherLayout(tensors, near.index(), allRows(tensors));
        stage(layout, layout.sizes());
        return layout.outputs();
    }

    private void stage(GatherLayout layout, long[] sizes) {
        gather.run(
                layout.blob(near.index())::pack,
                sizes,
                (member, stage, offset, first, count) ->
                        layout.blob(member).unpack(stage, offset, first, count));
    }

    private List<Tensor> between(long stamp, List<Tensor> tensors) {
        near.meet(stamp);
        GatherLayout layout = new GatherLayout(tensors, across.rank(), allRows(tensors));
        if (tensors.size() == 1) {
            collect(layout, layout.outputs().getFirst().segment());
        } else {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment blobs = arena.allocate(layout.byteSize());
                collect(layout, blobs);
                for (int rank = 0; rank < across.worldSize(); rank++) {
                    Bundle blob = layout.blob(rank);
                    blob.unpack(blobs, layout.starts()[rank], 0, blob.byteSize());
                }
            }
        }
        return layout.outputs();
    }

    /// Brings everybody's blobs to `memory`, side by side.
    private void collect(GatherLayout layout, MemorySegment memory) {
        long[] starts = layout.starts();
        long[] sizes = layout.sizes();
        gather(layout.blob(across.rank())::pack, memory, starts, sizes);
        if (near.size() > 1) {
            for (int domain = 0; domain < across.domains().size(); domain++) {
                if (domain != across.domainIndex()) {
                    for (int rank : across.domains().get(domain)) {
                        handOn(memory, starts[rank], sizes[rank]);
                    }
                }
            }
        }
    }

    /// Everybody's rows, by rank and then by tensor.
    private long[] allRows(List<Tensor> tensors) {
        long headBytes = (long) tensors.size() * Long.BYTES;
        long[] rows = new long[tensors.size() * across.worldSize()];
        long[] starts = new long[across.worldSize()];
        long[] sizes = new long[across.worldSize()];
        Arrays.setAll(starts, rank -> rank * headBytes);
        Arrays.fill(sizes, headBytes);
        MemorySegment own = rows(tensors);
        MemorySegment table = MemorySegment.ofArray(rows);
        gather(
                (first, count, stage, offset) ->
                        MemorySegment.copy(own, first, stage, offset, count),
                table,
                starts,
                sizes);
        if (!across.isEmpty() && near.size() > 1) {
            handOn(table, 0, table.byteSize());
        }
        return rows;
    }

    /// Brings the pieces of this host's ranks to `memory`, and those of the other hosts to its
    /// leader's.
    ///
    /// @param starts where the piece of each rank goes
    /// @param sizes the bytes of each rank's piece
    private void gather(
            StagedGather.Source own, MemorySegment memory, long[] starts, long[] sizes) {
        List<Integer> ranks = near.ranks();
        gather.run(
                own,
                ranks.stream().mapToLong(rank -> sizes[rank]).toArray(),
                (member, stage, offset, first, count) ->
                        MemorySegment.copy(
                                stage, offset, memory, starts[ranks.get(member)] + first, count));
        if (!across.isEmpty() && near.index() == 0) {
            new RingAllgather(across.parallel()).run(memory, across.domains(), starts, sizes);
        }
    }

    /// Gives the other ranks of this host what their leader has received.
    private void handOn(MemorySegment memory, long start, long length) {
        StagedBroadcast.Source source =
                (position, count, region, stage) ->
                        MemorySegment.copy(memory, start + position, region, stage, count);
        broadcast.run(0, source, memory, start, length);
    }

    private static MemorySegment rows(List<Tensor> tensors) {
        return MemorySegment.ofArray(
                tensors.stream().mapToLong(tensor -> tensor.shape().dimension(0)).toArray());
    }

    private static long byteSize(List<Tensor> tensors) {
        return tensors.stream().mapToLong(Tensor::byteSize).sum();
    }
}
