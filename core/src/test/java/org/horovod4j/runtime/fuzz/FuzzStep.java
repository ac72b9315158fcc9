package org.horovod4j.runtime.fuzz;

import java.util.List;
import java.util.Set;

/// What all ranks do in one step of a script.
///
/// @param number of the step
/// @param what makes it differ from the other steps of its program
/// @param calls the operations that are submitted asynchronously
/// @param tail the operations that run one after the other, in this order on all ranks, when the
///     others are submitted
/// @param parts by rank
/// @param joined the ranks that join at once; the others do when they are done
/// @param late the rank that begins when the others have looked for their results in vain, or -1
/// @param polls how often they look
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
    /// @param waitAfter after so many of its calls the first thread waits for the first of them; 0
    ///     never
    /// @param polls whether it waits by looking again and again
    record RankActions(List<List<Integer>> threads, int waitAfter, boolean polls) {}

    @Override
    public String toString() {
        return "step %d (%s): %s, then %s".formatted(number, what, calls, tail);
    }
}
