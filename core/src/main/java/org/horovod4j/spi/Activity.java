package org.horovod4j.spi;

/// What an operation spends its time on, in the words of Horovod's timeline where it has one.
public enum Activity {
    /// Copies tensors side by side into memory that is reduced or sent as one.
    MEMCPY_IN_FUSION_BUFFER,
    /// Waits for another rank of the host to come to the operation, or to be done with its part.
    WAIT_FOR_DATA,
    /// Reduces what the ranks of the host have in shared memory.
    SHM_ALLREDUCE,
    /// Exchanges with other hosts, or with ranks that share no memory, and reduces what comes.
    TCP_ALLREDUCE,
    /// Copies the result into the tensors.
    MEMCPY_OUT_FUSION_BUFFER
}
