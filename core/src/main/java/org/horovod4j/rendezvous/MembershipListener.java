package org.horovod4j.rendezvous;

/// Receives which ranks have joined and which rank failed first.
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
}
