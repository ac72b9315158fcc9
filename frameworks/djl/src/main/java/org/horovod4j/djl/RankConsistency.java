package org.horovod4j.djl;

import org.horovod4j.Communicator;
import org.horovod4j.MismatchException;

import java.util.List;
import java.util.stream.Collectors;

/// Lets all ranks fail together where one has reason to: a rank that threw alone would leave the
/// others waiting for it.
final class RankConsistency {
    private static final int MAX_SHOWN = 8;

    private RankConsistency() {}

    /// Returns when no rank has a complaint.
    ///
    /// @param action what the ranks are about to do, for the message
    /// @param complaints what this rank has found that does not fit
    /// @param remedy what to do about them
    /// @throws MismatchException on all ranks, with the complaints of all
    static void check(
            Communicator communicator, String action, List<String> complaints, String remedy) {
        List<List<String>> all = communicator.allgatherObject(action + ".agreement", complaints);
        StringBuilder told = new StringBuilder();
        for (int rank = 0; rank < all.size(); rank++) {
            if (!all.get(rank).isEmpty()) {
                told.append("\n  rank %d: %s".formatted(rank, summarize(all.get(rank))));
            }
        }
        if (!told.isEmpty()) {
            throw new MismatchException(
                    "%s: the ranks do not fit together%s\n%s".formatted(action, told, remedy));
        }
    }

    private static String summarize(List<String> complaints) {
        String first = complaints.stream().limit(MAX_SHOWN).collect(Collectors.joining("; "));
        int more = complaints.size() - MAX_SHOWN;
        return more > 0 ? first + "; and %d more".formatted(more) : first;
    }
}
