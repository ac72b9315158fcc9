package org.horovod4j.runtime;

import org.horovod4j.spi.Member;
import org.horovod4j.transport.SharedMemory;

import java.util.List;

/// How the ranks of a host come to share memory, for each process set anew.
public interface Sharing {
    /// Makes this rank's own part.
    ///
    /// @param channel tells the process set from all others, earlier ones included
    Space open(int channel);

    /// This rank's side of sharing memory, before and after it knows with whom.
    interface Space extends AutoCloseable {
        /// Where the others find this rank's memory; empty without one.
        String address();

        /// Maps the memory of the ranks that share with this one.
        ///
        /// @param members of the process set, with their addresses, by rank in the set
        /// @param rank this rank in the set
        SharedMemory meet(List<Member> members, int rank);

        /// Removes what was needed to find this rank's memory, once everybody has mapped it.
        void met();

        @Override
        void close();
    }
}
