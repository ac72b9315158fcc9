package org.horovod4j.runtime;

import java.util.List;

/// A process set as one rank sees it.
///
/// @param id its number
/// @param ranks its ranks as ranks of the world, ascending
/// @param worldRank this rank in the world
record RankSet(int id, List<Integer> ranks, int worldRank) {
    RankSet {
        ranks = List.copyOf(ranks);
    }

    int size() {
        return ranks.size();
    }

    boolean isIncluded() {
        return ranks.contains(worldRank);
    }

    /// This rank in the set, or -1.
    int rank() {
        return ranks.indexOf(worldRank);
    }
}
