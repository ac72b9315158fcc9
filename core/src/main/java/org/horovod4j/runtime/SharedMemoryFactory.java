package org.horovod4j.runtime;

import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.SharedMemory;

import java.util.List;

/// How the ranks of a host come to share memory, for each process set anew.
public interface SharedMemoryFactory {
    /// Makes this rank's own part.
    ///
    /// @param channel tells the process set from all others, earlier ones included
    Region open(int channel);

    /// This rank's side of sharing memory, before and after it knows with whom.
    interface Region extends AutoCloseable {
        /// Where the others find this rank's memory; empty without one.
        String address();

        /// Maps the memory of the ranks that share with this one.
        ///
        /// @param members of the process set, with their addresses, by rank in the set
        /// @param rank this rank in the set
        SharedMemory map(List<RankInfo> members, int rank);

        /// Removes what was needed to find this rank's memory, once everybody has mapped it.
        void unlink();

        @Override
        void close();
    }
}
