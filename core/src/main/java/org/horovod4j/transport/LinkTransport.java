package org.horovod4j.transport;

/// All links of one rank, grouped in independent channels.
///
/// Each process set has one channel for its data and one for its control messages. A channel that
/// waits, fails or is reset does not affect the others.
public interface LinkTransport extends AutoCloseable {
    /// Opens a channel. All ranks of the channel use the same number. They need not open it at the
    /// same time: connections of ranks that open it earlier wait until this rank does.
    ///
    /// @param id the number of the channel; it is not reused after the channel was closed
    /// @param liveness ends the wait for a peer that does not connect
    /// @throws IllegalStateException if this channel was opened before
    Links open(int id, Liveness liveness);

    /// Closes all channels.
    @Override
    void close();
}
