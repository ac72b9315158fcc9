package org.horovod4j.transport;

/// All links of one rank, in channels that do not know of each other.
///
/// Each process set has a channel for its data and one for its control messages. What waits, breaks
/// or starts anew in one of them leaves the others as they are.
public interface LinkTransport extends AutoCloseable {
    /// Opens a channel. All its ranks call it by the same number, and open it each in its own time:
    /// until this rank does, the calls of the others wait here.
    ///
    /// @param id serves once, and does not come back after its channel was closed
    /// @param liveness ends the waiting for a peer that does not call
    /// @throws IllegalStateException when the channel was opened before
    Links open(int id, Liveness liveness);

    /// Closes all channels.
    @Override
    void close();
}
