package org.horovod4j.transport;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.nio.channels.SelectableChannel;

/// An ordered stream of bytes to and from one peer. No method blocks: the caller alternates between
/// its transfers and waits with an [IdleStrategy] when none makes progress. One thread at a time
/// uses a link.
///
/// Segments must be off-heap, so that the system reads and writes them without a copy.
public interface Link extends AutoCloseable {
    /// The rank of the peer.
    int peer();

    /// Sends up to `length` bytes of `segment` from `offset` on. The caller may reuse the sent
    /// bytes at once.
    ///
    /// @return the number of bytes sent, 0 if there is no room now. The caller must offer the
    ///     remaining bytes again before any later ones
    /// @throws LinkBrokenException if the peer has closed the link
    long trySend(MemorySegment segment, long offset, long length);

    /// Receives up to `length` bytes into `segment` at `offset`.
    ///
    /// @return the number of bytes received, 0 if none are available now
    /// @throws LinkBrokenException if the peer has closed the link and all its bytes were read
    long tryReceive(MemorySegment segment, long offset, long length);

    /// The channel on which the next bytes to receive arrive; null if they arrive in memory. Only for
    /// waiting.
    default @Nullable SelectableChannel receiveChannel() {
        return null;
    }

    /// The channel over which the next bytes are sent; null if they are written to memory. Only for
    /// waiting.
    default @Nullable SelectableChannel sendChannel() {
        return null;
    }

    @Override
    void close();
}
