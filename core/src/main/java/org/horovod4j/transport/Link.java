package org.horovod4j.transport;

import java.lang.foreign.MemorySegment;

/// An ordered stream of bytes to and from one peer. No method blocks: whoever uses a link goes
/// round its transfers and waits with a [IdleStrategy] when nothing moves. One thread at a time uses a
/// link.
///
/// Segments lie outside the heap, where the system reads and writes them without a copy.
public interface Link extends AutoCloseable {
    /// The rank at the other end.
    int peer();

    /// Hands over up to `length` bytes of `segment` from `offset`; the caller may reuse them at
    /// once.
    ///
    /// @return how many were taken, 0 when there is no room now; the others are to be offered
    ///     again, before any that follow them
    /// @throws LinkBrokenException when the peer's end is closed
    long trySend(MemorySegment segment, long offset, long length);

    /// Takes up to `length` bytes into `segment` at `offset`.
    ///
    /// @return how many came, 0 when there are none now
    /// @throws LinkBrokenException when the peer's end is closed and everything it sent was read
    long tryReceive(MemorySegment segment, long offset, long length);

    @Override
    void close();
}
