package org.horovod4j.runtime;

import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.SharedMemory;

import java.util.List;

/// Shares memory between the ranks of a host, separately for each process set.
public interface SharedMemoryFactory {
    /// Creates this rank's part.
    ///
    /// @param channel a number that no other process set has had
    Region open(int channel);

    /// This rank's part of the shared memory of a process set.
    interface Region extends AutoCloseable {
        /// The address by which the others find this rank's memory; empty without one.
        String address();

        /// Maps the memory of the ranks that share with this one.
        ///
        /// @param members of the process set, with their addresses, by rank in the set
        /// @param rank this rank in the set
        SharedMemory map(List<RankInfo> members, int rank);

        /// Removes the name of this rank's memory, after all ranks have mapped it.
        void unlink();

        @Override
        void close();
    }
}
