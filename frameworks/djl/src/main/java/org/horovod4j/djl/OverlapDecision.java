package org.horovod4j.djl;

import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.horovod4j.Tensor;

/// Whether gradients are launched while backward computes others, the same on all ranks.
///
/// Where the program has not said it, each rank knows whether that would pay on its own host; a rank that
/// is bound to fewer processors, say, may think otherwise than the next one. If one gains by overlap all
/// do overlap, since a step takes as long as its slowest rank. They have to agree: a rank that abandons a
/// window must know whether the others have launched something of it. Until then nobody launches
/// before the step.
///
/// Costs an allgather of one byte in the first step, where nothing was said.
final class OverlapDecision {
    private final String name;
    private final boolean localPreference;
    private final String reasonAgainst;
    private boolean isAgreed;

    /// Read by the threads that run backward.
    private volatile boolean overlaps;

    private OverlapDecision(
            String name, boolean localPreference, String reasonAgainst, boolean isAgreed) {
        this.name = name;
        this.localPreference = localPreference;
        this.reasonAgainst = reasonAgainst;
        this.isAgreed = isAgreed;
        this.overlaps = isAgreed && localPreference;
    }

    /// Overlap that needs nobody's consent: it was asked for, or there is nobody to ask.
    static OverlapDecision always() {
        return new OverlapDecision("", true, "", true);
    }

    /// Overlap if one rank says that it pays, once they have agreed.
    ///
    /// @param name under which the ranks agree
    /// @param mine whether it pays for this rank
    /// @param whyNot if it does not
    static OverlapDecision negotiated(String name, boolean mine, String whyNot) {
        return new OverlapDecision(name, mine, whyNot, false);
    }

    /// Agrees with the other ranks, once. All of them call this when a step begins to reduce.
    ///
    /// A rank that has joined brings no row and hears nothing, so the others ask again until all
    /// have told.
    void agree(ProcessSet processSet) {
        if (isAgreed) {
            return;
        }
        Communicator communicator = processSet.communicator();
        byte[] told = {(byte) (localPreference ? 1 : 0)};
        Tensor all = communicator.allgather(name, Tensor.of(told, 1));
        if (all.shape().dimension(0) == communicator.size()) {
            isAgreed = true;
            overlaps = isAnyTrue(all.toByteArray());
        }
    }

    private static boolean isAnyTrue(byte[] told) {
        for (byte each : told) {
            if (each != 0) {
                return true;
            }
        }
        return false;
    }

    boolean overlaps() {
        return overlaps;
    }

    /// Why gradients are not launched while backward goes on; empty if they are.
    String reason() {
        if (overlaps) {
            return "";
        }
        return isAgreed ? reasonAgainst : "the ranks agree on it in the first step";
    }
}
