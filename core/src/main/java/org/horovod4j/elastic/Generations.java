package org.horovod4j.elastic;

import org.horovod4j.Communicator;
import org.horovod4j.elastic.registry.GenerationMembership;

/// The generations that a process is in, one after the other.
interface Generations {
    /// A generation that the process is in.
    ///
    /// @param isReset whether it replaces a generation whose rank and size the program may have
    ///     used
    record Generation(
            Communicator communicator, GenerationMembership membership, boolean isReset) {}

    /// Joins the next generation, unless the process is in one. An exception ends the process.
    Generation enter();

    /// Leaves with a shutdown, or after a failure that the other ranks know.
    void leave();

    /// Leaves as a failure. The other ranks get the reason at once.
    void abort(String reason);
}
