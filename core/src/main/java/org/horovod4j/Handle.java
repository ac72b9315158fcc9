package org.horovod4j;

import org.jspecify.annotations.Nullable;

/// An operation that was submitted and may still be running. Its tensors belong to Horovod4J until
/// it is done.
///
/// @param <T> what the operation returns
public interface Handle<T> {
    boolean isDone();

    /// Waits for the end and returns the result.
    ///
    /// @throws HorovodException what went wrong: [MismatchException], [PeerLostException],
    ///     [ShutDownException]
    T join();

    /// Why the operation failed; null while it runs and when it went well.
    @Nullable HorovodException cause();
}
