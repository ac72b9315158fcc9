package org.horovod4j.runtime;

import java.util.List;

/// A process set as one rank sees it.
///
/// @param id its number
/// @param ranks its ranks as job ranks, ascending
/// @param jobRank the job rank of this process
record RankSet(int id, List<Integer> ranks, int jobRank) {
    RankSet {
        ranks = List.copyOf(ranks);
    }

    int size() {
        return ranks.size();
    }

    boolean isIncluded() {
        return ranks.contains(jobRank);
    }

    /// This rank in the set, or -1.
    int rank() {
        return ranks.indexOf(jobRank);
    }
}
