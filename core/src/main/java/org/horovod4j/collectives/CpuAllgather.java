package org.horovod4j.collectives;

import org.horovod4j.Tensor;
import org.horovod4j.collectives.algorithm.RingAllgather;
import org.horovod4j.collectives.algorithm.StagedAllgather;
import org.horovod4j.collectives.algorithm.StagedBroadcast;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/// Allgather. The ranks first exchange their row counts, which may differ.
///
/// Within a host, small tensors are posted in the notice together with the row counts, and larger
/// ones go through the stages. Between hosts, the first ranks of all hosts exchange their hosts'
/// tensors in a ring and then broadcast them within their host. Several tensors are gathered
/// together: see [AllgatherLayout].
final class CpuAllgather {
    private final LocalGroup local;
    private final CrossGroup cross;
    private final StagedAllgather gather;
    private final StagedBroadcast broadcast;

    CpuAllgather(LocalGroup local, CrossGroup crossGroup) {
        this.local = local;
        this.cross = crossGroup;
        this.gather = new StagedAllgather(local);
        this.broadcast = new StagedBroadcast(local);
    }

    List<Tensor> run(long stamp, List<Tensor> tensors) {
        if (!cross.isSingleDomain()) {
            return acrossHosts(stamp, tensors);
        }
        return (long) tensors.size() * Long.BYTES <= RegionLayout.NOTICE_BYTES
                ? withinHost(stamp, tensors)
                : withinHostManyTensors(stamp, tensors);
    }

    /// Posts the row count of each tensor and, if they fit, the tensors themselves.
    private List<Tensor> withinHost(long stamp, List<Tensor> tensors) {
        long headBytes = (long) tensors.size() * Long.BYTES;
        MemorySegment mine = local.region(local.index());
        MemorySegment.copy(rows(tensors), 0, mine, local.nextPayloadOffset(), headBytes);
        if (headBytes + byteSize(tensors) <= RegionLayout.NOTICE_BYTES) {
            long at = local.nextPayloadOffset() + headBytes;
            for (Tensor tensor : tensors) {
                MemorySegment.copy(tensor.segment(), 0, mine, at, tensor.byteSize());
                at += tensor.byteSize();
            }
        }
        local.barrier(stamp);
        long[] rows = new long[tensors.size() * local.size()];
        MemorySegment table = MemorySegment.ofArray(rows);
        for (int member = 0; member < local.size(); member++) {
            MemorySegment.copy(
                    local.region(member),
                    local.payloadOffset(),
                    table,
                    member * headBytes,
                    headBytes);
        }
        AllgatherLayout layout = new AllgatherLayout(tensors, local.index(), rows);
        long[] staged = layout.sizes().clone();
        for (int member = 0; member < staged.length; member++) {
            if (headBytes + staged[member] <= RegionLayout.NOTICE_BYTES) {
                long payload = local.payloadOffset() + headBytes;
                layout.rankBlock(member).unpack(local.region(member), payload, 0, staged[member]);
                staged[member] = 0;
            }
        }
        stage(layout, staged);
        return layout.outputs();
    }

    /// For so many tensors that their row counts do not fit into a notice.
    private List<Tensor> withinHostManyTensors(long stamp, List<Tensor> tensors) {
        local.barrier(stamp);
        AllgatherLayout layout = new AllgatherLayout(tensors, local.index(), allRows(tensors));
        stage(layout, layout.sizes());
        return layout.outputs();
    }

    private void stage(AllgatherLayout layout, long[] sizes) {
        gather.run(
                layout.rankBlock(local.index())::pack,
                sizes,
                (member, stage, offset, first, count) ->
                        layout.rankBlock(member).unpack(stage, offset, first, count));
    }

    private List<Tensor> acrossHosts(long stamp, List<Tensor> tensors) {
        local.barrier(stamp);
        AllgatherLayout layout = new AllgatherLayout(tensors, cross.rank(), allRows(tensors));
        if (tensors.size() == 1) {
            collect(layout, layout.outputs().getFirst().segment());
        } else {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment blocks = arena.allocate(layout.byteSize());
                collect(layout, blocks);
                for (int rank = 0; rank < cross.size(); rank++) {
                    FusedTensors block = layout.rankBlock(rank);
                    block.unpack(blocks, layout.starts()[rank], 0, block.byteSize());
                }
            }
        }
        return layout.outputs();
    }

    /// Gathers the blocks of all ranks in `memory`, one after the other.
    private void collect(AllgatherLayout layout, MemorySegment memory) {
        long[] starts = layout.starts();
        long[] sizes = layout.sizes();
        gather(layout.rankBlock(cross.rank())::pack, memory, starts, sizes);
        if (local.size() > 1) {
            for (int domain = 0; domain < cross.domains().size(); domain++) {
                if (domain != cross.domainIndex()) {
                    for (int rank : cross.domains().get(domain)) {
                        broadcastWithinHost(memory, starts[rank], sizes[rank]);
                    }
                }
            }
        }
    }

    /// The row counts of all ranks, by rank and then by tensor.
    private long[] allRows(List<Tensor> tensors) {
        long headBytes = (long) tensors.size() * Long.BYTES;
        long[] rows = new long[tensors.size() * cross.size()];
        long[] starts = new long[cross.size()];
        long[] sizes = new long[cross.size()];
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
        if (!cross.isSingleDomain() && local.size() > 1) {
            broadcastWithinHost(table, 0, table.byteSize());
        }
        return rows;
    }

    /// Gathers the pieces of this host's ranks in the `memory` of each of them, and the pieces of
    /// all hosts in the `memory` of each host's first rank.
    ///
    /// @param starts the offset of each rank's piece
    /// @param sizes the size of each rank's piece in bytes
    private void gather(
            StagedAllgather.Source own, MemorySegment memory, long[] starts, long[] sizes) {
        List<Integer> ranks = local.ranks();
        gather.run(
                own,
                ranks.stream().mapToLong(rank -> sizes[rank]).toArray(),
                (member, stage, offset, first, count) ->
                        MemorySegment.copy(
                                stage, offset, memory, starts[ranks.get(member)] + first, count));
        if (!cross.isSingleDomain() && local.index() == 0) {
            new RingAllgather(cross.group()).run(memory, cross.domains(), starts, sizes);
        }
    }

    /// Copies what the first rank of this host has received to the other ranks of the host.
    private void broadcastWithinHost(MemorySegment memory, long start, long length) {
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
