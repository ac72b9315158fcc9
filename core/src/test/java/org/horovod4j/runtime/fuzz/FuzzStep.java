package org.horovod4j.runtime.fuzz;

import java.util.List;
import java.util.Set;

/// What all ranks do in one step of a script.
///
/// @param number of the step
/// @param what the difference from the other steps of its program
/// @param calls the operations that are submitted asynchronously
/// @param tail the operations that run one after the other, in this order on all ranks, after the
///     others are submitted
/// @param parts by rank
/// @param joined the ranks that join at once; the others join when they are done
/// @param late the rank that begins after the others have polled, or -1
/// @param polls the number of polls
record FuzzStep(
        int number,
        String what,
        List<FuzzCall> calls,
        List<FuzzCall> tail,
        List<RankActions> parts,
        Set<Integer> joined,
        int late,
        int polls) {
    /// What one rank does.
    ///
    /// @param threads the calls that each thread submits, in order
    /// @param waitAfter after this number of calls the first thread waits for the first of them; 0
    ///     for never
    /// @param polls whether it waits by polling
    record RankActions(List<List<Integer>> threads, int waitAfter, boolean polls) {}

    @Override
    public String toString() {
        return "step %d (%s): %s, then %s".formatted(number, what, calls, tail);
    }
}
