package org.horovod4j.spi;

/// The phases of a collective, with the names of Horovod's timeline where Horovod has the same
/// phase.
public enum Activity {
    /// Copies tensors one after the other into memory that is reduced or sent as a whole.
    MEMCPY_IN_FUSION_BUFFER,
    /// Waits for another rank to start the collective or to finish its part, or for the stream of a device
    /// that computes the tensors.
    WAIT_FOR_DATA,
    /// Reduces the data of the host's ranks in shared memory.
    SHM_ALLREDUCE,
    /// Exchanges data with other hosts, or with ranks that share no memory, and reduces what
    /// arrives.
    TCP_ALLREDUCE,
    /// Copies the result into the tensors.
    MEMCPY_OUT_FUSION_BUFFER
}
