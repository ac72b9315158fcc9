package org.horovod4j.rendezvous;

/// Hears who has come to a meeting of the ranks.
@FunctionalInterface
public interface Attendance {
    /// For a server whose ranks nobody watches.
    Attendance UNWATCHED = _ -> {};

    /// A rank has joined, in whichever generation. Called under the lock of the meeting: must not
    /// wait for anything.
    void joined(int rank);
}
