package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.LinkGroup;
import org.horovod4j.collectives.algorithm.StagedBroadcast;
import org.horovod4j.collectives.algorithm.TreeBroadcast;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/// Broadcast: inside the root's host from the root; elsewhere from a rank that has it over a link.
///
/// Every rank must know that all agree before the root goes on, although the root receives nothing:
/// so the hosts' leaders first meet in a tree. Its root is not that of the broadcast, for ranks
/// that disagree on that one would each wait at the root of another tree.
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
        List<Integer> speakers = leaders(rootRank);
        int speaker = local.ranks().indexOf(speakers.get(cross.domainIndex()));
        // The root's domain comes first, for a tree has its root at 0.
        int first = speakers.indexOf(rootRank);
        Collections.rotate(speakers, -first);
        if (local.index() == 0) {
            cross.barrier();
        }
        StagedBroadcast.Source source = NO_SOURCE;
        if (local.index() == speaker) {
            LinkGroup linkGroup =
                    new LinkGroup(cross.pointToPoint(), speakers, speakers.indexOf(cross.rank()));
            source = new TreeSource(new TreeBroadcast(linkGroup), tensor);
        }
        local.barrier(stamp); // everybody agrees: from here on tensors may be overwritten
        staged.run(speaker, source, tensor, 0, tensor.byteSize());
    }

    /// The rank of each domain that speaks to the other domains.
    private List<Integer> leaders(int rootRank) {
        List<Integer> speakers = new ArrayList<>();
        for (List<Integer> domain : cross.domains()) {
            speakers.add(domain.contains(rootRank) ? rootRank : domain.getFirst());
        }
        return speakers;
    }

    private static final StagedBroadcast.Source NO_SOURCE =
            (_, _, _, _) -> {
                throw new IllegalStateException("this rank does not speak for its host");
            };

    /// Brings pieces from the speaker before this one in the tree, and passes them on.
    private record TreeSource(TreeBroadcast tree, MemorySegment tensor)
            implements StagedBroadcast.Source {
        @Override
        public void fill(long position, long count, MemorySegment region, long stage) {
            if (tree.isRoot()) {
                MemorySegment.copy(tensor, position, region, stage, count);
            }
            tree.run(region, stage, count);
        }

        @Override
        public boolean isRemote() {
            return !tree.isRoot();
        }
    }
}
