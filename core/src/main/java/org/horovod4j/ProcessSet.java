package org.horovod4j;

import java.util.List;

/// Ranks that act together: all of the job, or some of them.
///
/// Operations of different process sets do not wait for each other, even where a rank is in both.
/// Sets are made by [Communicator#addProcessSet] or at [Hvd#init(List)], on every rank of the job
/// in the same order, whether it is in them or not.
public interface ProcessSet {
    /// Its number: 0 for all ranks of the job. A number may come back after its set was removed.
    int id();

    /// Its ranks as ranks of the job, ascending.
    List<Integer> ranks();

    int size();

    /// Whether this process is in it.
    boolean isIncluded();

    /// This process among those of the set, from 0.
    ///
    /// @throws IllegalStateException when it is not in the set
    int rank();

    /// The collectives of this set.
    ///
    /// @throws IllegalStateException when this process is not in the set, or the set was removed
    Communicator communicator();
}
