package org.horovod4j.rendezvous;

/// Receives which ranks have joined, which rank failed first, and which ranks the others miss.
@FunctionalInterface
public interface MembershipListener {
    /// Ignores everything.
    MembershipListener NONE = _ -> {};

    /// A rank has joined, in any generation. Called under the lock of the generation: must not
    /// block.
    void joined(int rank);

    /// A rank that had joined was the first to fail, in any generation. What happens to other ranks
    /// from now on may be a consequence. Must not block.
    ///
    /// @param reason what is known so far; the exit of its process is reported separately
    default void failed(int rank, String reason) {}

    /// Other ranks cannot continue without a rank that has left, has ended or failed. Called even if
    /// it left in order or its process exited with code 0. Must not block.
    ///
    /// @param reason "called shutdown", "its process has ended"
    default void missed(int rank, String reason) {}
}
