package org.horovod4j.elastic;

import org.horovod4j.Communicator;
import org.horovod4j.elastic.registry.GenerationMembership;

/// The worlds that a process belongs to, one after the other.
interface Generations {
    /// A world that the process is in.
    ///
    /// @param isReset whether it takes the place of one that the program may have adapted itself to
    record Generation(
            Communicator communicator, GenerationMembership membership, boolean isReset) {}

    /// Joins the next one, unless the process is in one already. What it throws, the process does
    /// not survive.
    Generation enter();

    /// Leaves in order, or after a failure that the others know of.
    void leave();

    /// Leaves as a failure, of which the others hear at once.
    void abandon(String reason);
}
