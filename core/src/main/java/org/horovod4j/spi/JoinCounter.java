package org.horovod4j.spi;

import org.horovod4j.Communicator;

/// A communicator that counts the joins of its process set. While some ranks have joined, the others
/// continue, so counts of steps differ between ranks. After a join they can start again from zero.
public interface JoinCounter {
    /// How many joins of this process set are complete: after a join, the same on all ranks.
    int completedJoins();

    /// The joins of a communicator; 0 for one that a program has implemented.
    static int of(Communicator communicator) {
        return communicator instanceof JoinCounter counter ? counter.completedJoins() : 0;
    }
}
