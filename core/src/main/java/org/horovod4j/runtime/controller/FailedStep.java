package org.horovod4j.runtime.controller;

import java.util.BitSet;

/// A step that has failed on some ranks. They have ended it, and submit nothing until the others have
/// ended it, too. An operation that one of them has not submitted fails on the others.
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
    boolean lacks(RequestTally requestTally) {
        for (int rank = ended.nextSetBit(0); rank >= 0; rank = ended.nextSetBit(rank + 1)) {
            if (!requestTally.has(rank)) {
                return true;
            }
        }
        return false;
    }

    /// Why an operation fails that such a rank has not submitted.
    String describe(RequestTally requestTally) {
        return """
        %s cannot run, because the step of rank %d has failed: %s
        Call failStep on all ranks before the next step, or end the program."""
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
