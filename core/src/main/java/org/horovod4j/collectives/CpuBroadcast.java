package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.LinkBroadcast;
import org.horovod4j.collectives.algorithm.LinkGroup;
import org.horovod4j.collectives.algorithm.StagedBroadcast;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/// Broadcast. On the root's host all ranks copy from the root. On every other host one rank
/// receives the tensor over a link, and the others copy from it.
///
/// The root receives nothing, so it could finish before the others have compared stamps. Therefore
/// the first ranks of all hosts first run a barrier. It does not use the links of the broadcast:
/// ranks that disagree on the root would use different ones and wait forever.
final class CpuBroadcast {
    private final LocalGroup local;
    private final CrossGroup cross;
    private final StagedBroadcast staged;

    CpuBroadcast(LocalGroup local, CrossGroup crossGroup) {
        this.local = local;
        this.cross = crossGroup;
        this.staged = new StagedBroadcast(local);
    }

    void run(long stamp, MemorySegment tensor, int rootRank) {
        if (cross.isSingleDomain()) {
            withinHost(stamp, tensor, local.ranks().indexOf(rootRank));
        } else {
            local.barrier(stamp);
            acrossHosts(stamp, tensor, rootRank);
        }
    }

    private void withinHost(long stamp, MemorySegment tensor, int root) {
        long bytes = tensor.byteSize();
        if (bytes > RegionLayout.NOTICE_BYTES) {
            local.barrier(stamp);
            StagedBroadcast.Source source =
                    (position, count, region, stage) ->
                            MemorySegment.copy(tensor, position, region, stage, count);
            staged.run(root, source, tensor, 0, bytes);
            return;
        }
        if (local.index() == root) {
            MemorySegment.copy(tensor, 0, local.region(root), local.nextPayloadOffset(), bytes);
        }
        local.barrier(stamp);
        if (local.index() != root) {
            MemorySegment.copy(local.region(root), local.payloadOffset(), tensor, 0, bytes);
        }
    }

    private void acrossHosts(long stamp, MemorySegment tensor, int rootRank) {
        List<Integer> senders = leaders(rootRank);
        int sender = local.ranks().indexOf(senders.get(cross.domainIndex()));
        // The root's domain comes first, because member 0 sends.
        int rootIndex = senders.indexOf(rootRank);
        Collections.rotate(senders, -rootIndex);
        if (local.index() == 0) {
            cross.barrier();
        }
        local.barrier(stamp); // all ranks agree: tensors may be overwritten from here on
        if (local.index() == sender) {
            LinkGroup group =
                    new LinkGroup(cross.pointToPoint(), senders, senders.indexOf(cross.rank()));
            LinkBroadcast broadcast =
                    new LinkBroadcast(group, StagedBroadcast.rounds(tensor.byteSize()));
            LinkSource source = new LinkSource(broadcast, tensor);
            staged.run(sender, source, tensor, 0, tensor.byteSize());
            broadcast.finish();
        } else {
            staged.run(sender, NO_SOURCE, tensor, 0, tensor.byteSize());
        }
    }

    /// The rank of each domain that exchanges data with other domains.
    private List<Integer> leaders(int rootRank) {
        List<Integer> senders = new ArrayList<>();
        for (List<Integer> domain : cross.domains()) {
            senders.add(domain.contains(rootRank) ? rootRank : domain.getFirst());
        }
        return senders;
    }

    private static final StagedBroadcast.Source NO_SOURCE =
            (_, _, _, _) -> {
                throw new IllegalStateException("this rank does not send for its host");
            };

    /// Receives pieces from another host and forwards them.
    private record LinkSource(LinkBroadcast broadcast, MemorySegment tensor)
            implements StagedBroadcast.Source {
        @Override
        public void fill(long position, long count, MemorySegment region, long stage) {
            if (broadcast.isRoot()) {
                MemorySegment.copy(tensor, position, region, stage, count);
            }
            broadcast.run(region, stage, count);
        }

        @Override
        public boolean isRemote() {
            return !broadcast.isRoot();
        }
    }
}
