package org.horovod4j.rendezvous;

/// Hears who has come to a meeting of the ranks, and who has ended it.
@FunctionalInterface
public interface MembershipListener {
    /// For a server whose ranks nobody watches.
    MembershipListener NONE = _ -> {};

    /// A rank has joined, in whichever generation. Called under the lock of the meeting: must not
    /// wait for anything.
    void joined(int rank);

    /// A rank that had joined was the first to fail, in whichever generation: what the others do from
    /// now on may come of that. Called like the other.
    ///
    /// @param reason what is known so far; how its process ended is told elsewhere
    default void failed(int rank, String reason) {}
}
