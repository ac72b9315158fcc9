package org.horovod4j.runtime.controller;

import java.util.BitSet;

/// A step that has failed on some ranks. They have ended it, and submit nothing until the others
/// have ended it, too. What the others submit and these have not fails.
final class FailedStep {
    private final BitSet ended = new BitSet();
    private int firstJobRank;
    private int lastRank;

    /// Why the step failed on the first rank that ended it. The others may have ended it because of
    /// that.
    private String reason = "";

    void add(int rank, int jobRank, String rankReason) {
        if (ended.isEmpty()) {
            firstJobRank = jobRank;
            reason = rankReason;
        }
        ended.set(rank);
        lastRank = rank;
    }

    boolean isEmpty() {
        return ended.isEmpty();
    }

    /// Whether a rank that has ended the step has not submitted the operation.
    boolean isMissing(RequestTally requestTally) {
        return ended.stream().anyMatch(rank -> !requestTally.has(rank));
    }

    /// Why an operation fails that such a rank has not submitted.
    String describe(RequestTally requestTally) {
        return """
        %s cannot run, because the step of rank %d has failed: %s
        Call failStep on this rank too before its next step, or end the program."""
                .formatted(requestTally.first(), firstJobRank, reason);
    }

    /// Whether all ranks have ended the step, or have joined.
    boolean hasEnded(BitSet joined, int ranks) {
        return !isEmpty() && RequestTally.haveAllSubmitted(joined, ranks, ended::get);
    }

    /// The last rank that ended the step.
    int lastRank() {
        return lastRank;
    }

    void clear() {
        ended.clear();
    }
}
