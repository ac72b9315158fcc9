package org.horovod4j.training;

import org.horovod4j.Communicator;
import org.horovod4j.MismatchException;

import java.util.List;
import java.util.stream.Collectors;

/// Makes all ranks fail together when one of them finds a problem. A rank that throws alone would
/// leave the others waiting for it.
public final class RankConsistency {
    private static final int MAX_SHOWN = 8;

    private RankConsistency() {}

    /// Exchanges the problems of all ranks and returns if there are none. Costs one allgather.
    ///
    /// @param action what the ranks are about to do; part of the message and of the tensor's name
    /// @param problems what this rank has found
    /// @param remedy what the user can do
    /// @throws MismatchException on all ranks, with the problems of all ranks
    public static void check(
            Communicator communicator, String action, List<String> problems, String remedy) {
        List<List<String>> all = communicator.allgatherObject(action + ".agreement", problems);
        StringBuilder text = new StringBuilder();
        for (int rank = 0; rank < all.size(); rank++) {
            if (!all.get(rank).isEmpty()) {
                text.append("\n  rank %d: %s".formatted(rank, summarize(all.get(rank))));
            }
        }
        if (!text.isEmpty()) {
            throw new MismatchException(
                    "%s: the ranks do not match%s\n%s".formatted(action, text, remedy));
        }
    }

    private static String summarize(List<String> problems) {
        String first = problems.stream().limit(MAX_SHOWN).collect(Collectors.joining("; "));
        int more = problems.size() - MAX_SHOWN;
        return more > 0 ? first + "; and %d more".formatted(more) : first;
    }
}
