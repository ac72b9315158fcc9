package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.Group;
import org.horovod4j.collectives.algorithm.StagedBroadcast;
import org.horovod4j.collectives.algorithm.TreeBroadcast;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region;

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
    private final Neighbourhood near;
    private final Across across;
    private final StagedBroadcast staged;

    CpuBroadcast(Neighbourhood near, Across across) {
        this.near = near;
        this.across = across;
        this.staged = new StagedBroadcast(near);
    }

    void run(long stamp, MemorySegment tensor, int rootRank) {
        if (across.isEmpty()) {
            inside(stamp, tensor, near.ranks().indexOf(rootRank));
        } else {
            near.meet(stamp);
            between(stamp, tensor, rootRank);
        }
    }

    private void inside(long stamp, MemorySegment tensor, int root) {
        long bytes = tensor.byteSize();
        if (bytes > Region.NOTICE_BYTES) {
            near.meet(stamp);
            StagedBroadcast.Source source =
                    (position, count, region, stage) ->
                            MemorySegment.copy(tensor, position, region, stage, count);
            staged.run(root, source, tensor, 0, bytes);
            return;
        }
        if (near.index() == root) {
            MemorySegment.copy(tensor, 0, near.region(root), near.nextPayload(), bytes);
        }
        near.meet(stamp);
        if (near.index() != root) {
            MemorySegment.copy(near.region(root), near.payload(), tensor, 0, bytes);
        }
    }

    private void between(long stamp, MemorySegment tensor, int rootRank) {
        List<Integer> speakers = speakers(rootRank);
        int speaker = near.ranks().indexOf(speakers.get(across.domainIndex()));
        // The root's domain comes first, for a tree has its root at 0.
        int first = speakers.indexOf(rootRank);
        Collections.rotate(speakers, -first);
        if (near.index() == 0) {
            across.agree();
        }
        StagedBroadcast.Source source = NOTHING;
        if (near.index() == speaker) {
            Group group = new Group(across.wire(), speakers, speakers.indexOf(across.rank()));
            source = new OverTree(new TreeBroadcast(group), tensor);
        }
        near.meet(stamp); // everybody agrees: from here on tensors may be overwritten
        staged.run(speaker, source, tensor, 0, tensor.byteSize());
    }

    /// The rank of each domain that speaks to the other domains.
    private List<Integer> speakers(int rootRank) {
        List<Integer> speakers = new ArrayList<>();
        for (List<Integer> domain : across.domains()) {
            speakers.add(domain.contains(rootRank) ? rootRank : domain.getFirst());
        }
        return speakers;
    }

    private static final StagedBroadcast.Source NOTHING =
            (_, _, _, _) -> {
                throw new IllegalStateException("this rank does not speak for its host");
            };

    /// Brings pieces from the speaker before this one in the tree, and passes them on.
    private record OverTree(TreeBroadcast tree, MemorySegment tensor)
            implements StagedBroadcast.Source {
        @Override
        public void bring(long position, long count, MemorySegment region, long stage) {
            if (tree.isRoot()) {
                MemorySegment.copy(tensor, position, region, stage, count);
            }
            tree.run(region, stage, count);
        }

        @Override
        public boolean isForeign() {
            return !tree.isRoot();
        }
    }
}
