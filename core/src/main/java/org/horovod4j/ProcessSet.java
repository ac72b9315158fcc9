package org.horovod4j;

import java.util.List;

/// Ranks that act together: all of the job, or some of them.
///
/// ```java
/// ProcessSet even = Hvd.addProcessSet(0, 2, 4); // on every rank of the job
/// if (even.isIncluded()) {
///     Communicator comm = even.communicator();
///     comm.broadcast("weights", weights, even.rankOf(4)); // from rank 4 of the job
/// }
/// ```
///
/// Operations of different process sets do not wait for each other, even if a rank is in both. Sets
/// are made by [Communicator#addProcessSet] or at [Hvd#init(List)], on every rank of the job in the
/// same order, whether the rank is in them or not.
///
/// The members have ranks of their own in the set, from 0, in the order of their ranks in the job.
/// All collectives of [#communicator] count ranks in the set.
public interface ProcessSet {
    /// Its number: 0 for all ranks of the job. A number may be used again after its set was
    /// removed.
    int id();

    /// Its members as ranks of the job, ascending.
    List<Integer> ranks();

    /// How many members it has.
    default int size() {
        return ranks().size();
    }

    /// The rank in the job of a member.
    ///
    /// @param setRank its rank in this set
    /// @throws IllegalArgumentException when the set has no such rank
    default int jobRank(int setRank) {
        if (setRank < 0 || setRank >= size()) {
            throw new IllegalArgumentException(
                    "%s has no rank %d: its ranks go from 0 to %d"
                            .formatted(this, setRank, size() - 1));
        }
        return ranks().get(setRank);
    }

    /// The rank in this set of a member.
    ///
    /// @param jobRank its rank in the job
    /// @throws IllegalArgumentException when it is not a member
    default int rankOf(int jobRank) {
        int setRank = ranks().indexOf(jobRank);
        if (setRank < 0) {
            throw new IllegalArgumentException(
                    "rank %d of the job is not in %s".formatted(jobRank, this));
        }
        return setRank;
    }

    /// Whether this process is a member.
    boolean isIncluded();

    /// The rank of this process in the set, from 0.
    ///
    /// @throws IllegalStateException when this process is not a member
    int rank();

    /// The collectives of this set.
    ///
    /// @throws IllegalStateException when this process is not a member, or the set was removed
    Communicator communicator();
}
