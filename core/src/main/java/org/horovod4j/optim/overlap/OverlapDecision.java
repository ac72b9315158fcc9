package org.horovod4j.optim.overlap;

import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.horovod4j.Tensor;

/// Whether gradients are reduced while backward computes others: the same choice on all ranks.
///
/// If the program does not choose, each rank finds out whether overlap pays on its host. Ranks may
/// differ, for example when one is bound to fewer processors. If overlap pays for one rank, all
/// ranks use it, because the slowest rank determines the time of a step. The ranks must agree: a
/// rank that discards an accumulation window must know whether the others have launched reductions
/// in it. Until they have agreed, no rank launches before the step.
///
/// Costs an allgather of one byte in the first step, unless the program chooses.
public final class OverlapDecision {
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

    /// Overlap without an agreement: the program has chosen it, or there is only one rank.
    public static OverlapDecision always() {
        return new OverlapDecision("", true, "", true);
    }

    /// Overlap if it pays for at least one rank, once the ranks have agreed.
    ///
    /// @param name of the allgather, the same on all ranks
    /// @param pays whether overlap pays for this rank
    /// @param reasonAgainst why it does not
    public static OverlapDecision negotiated(String name, boolean pays, String reasonAgainst) {
        return new OverlapDecision(name, pays, reasonAgainst, false);
    }

    /// Agrees with the other ranks, once. All ranks call this when a step begins to reduce.
    ///
    /// A rank that has joined takes no part and does not learn the result. So the others repeat the
    /// exchange in the next step, until all ranks take part.
    public void agree(ProcessSet processSet) {
        if (isAgreed) {
            return;
        }
        Communicator communicator = processSet.communicator();
        byte[] preference = {(byte) (localPreference ? 1 : 0)};
        Tensor all = communicator.allgather(name, Tensor.of(preference, 1));
        if (all.shape().dimension(0) == communicator.size()) {
            isAgreed = true;
            overlaps = isAnySet(all.toByteArray());
        }
    }

    private static boolean isAnySet(byte[] preferences) {
        for (byte each : preferences) {
            if (each != 0) {
                return true;
            }
        }
        return false;
    }

    public boolean overlaps() {
        return overlaps;
    }

    /// Why gradients are not reduced during backward; empty if they are.
    public String reason() {
        if (overlaps) {
            return "";
        }
        return isAgreed ? reasonAgainst : "the ranks agree on it in the first step";
    }
}
