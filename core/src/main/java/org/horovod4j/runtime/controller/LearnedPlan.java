package org.horovod4j.runtime.controller;

import org.horovod4j.runtime.fusion.Fusion;
import org.horovod4j.runtime.fusion.Plan;
import org.horovod4j.runtime.message.Request;

import java.util.List;

/// A plan that the coordinator keeps between two locks.
final class LearnedPlan {
    /// A lock of fewer steps than this was not worth it.
    private static final int WORTHWHILE_STEPS = 4;

    private static final int MAX_BACKOFF_EXPONENT = 16;

    /// The longest pause after short locks. To lock and to leave a plan costs no more than a few
    /// batches.
    private static final int MAX_SHORT_LOCK_EXPONENT = 2;

    private final List<Fusion.Item> items;
    private final List<List<Request>> batches;
    private final Plan plan;
    private boolean sent;

    /// The pause before the next lock is `items.size() << backoffExponent` operations.
    private int backoffExponent;

    private long backoffOperations;

    /// @param items the operations of the step, in order
    LearnedPlan(long number, List<Fusion.Item> items, Fusion fusion) {
        this.items = items;
        this.batches =
                fusion.batches(items).stream()
                        .map(batch -> batch.stream().map(i -> items.get(i).request()).toList())
                        .toList();
        this.plan = new Plan(number, batches);
    }

    long number() {
        return plan.number();
    }

    List<Fusion.Item> items() {
        return items;
    }

    /// The batches the first time, nothing later: the ranks keep them.
    List<List<Request>> batchesToSend() {
        List<List<Request>> unsent = sent ? List.of() : batches;
        sent = true;
        return unsent;
    }

    /// The index of the batch that begins with `request`, or -1.
    int batchStartingWith(Request request) {
        return plan.batchStartingWith(request);
    }

    boolean contains(Request request) {
        return plan.contains(request);
    }

    /// Whether the plan has these operations, beginning with any of them.
    boolean isSame(List<Fusion.Item> others) {
        int size = items.size();
        int start = size == others.size() ? indexOf(others.getFirst().request()) : -1;
        for (int i = 0; start >= 0 && i < size; i++) {
            Request mine = items.get((start + i) % size).request();
            if (!mine.equals(others.get(i).request())) {
                return false;
            }
        }
        return start >= 0;
    }

    private int indexOf(Request request) {
        for (int i = 0; i < items.size(); i++) {
            if (items.get(i).request().equals(request)) {
                return i;
            }
        }
        return -1;
    }

    /// Pauses an inefficient plan before it is locked again. The pause doubles each time.
    ///
    /// @param stuck whether a rank waited for an operation that the plan held back
    /// @param batchCount how many batches of the plan ran
    void unlocked(boolean stuck, long batchCount) {
        boolean inefficient = stuck || batchCount < (long) WORTHWHILE_STEPS * batches.size();
        int limit =
                stuck ? MAX_BACKOFF_EXPONENT : Math.max(backoffExponent, MAX_SHORT_LOCK_EXPONENT);
        backoffExponent = inefficient ? Math.min(backoffExponent + 1, limit) : 0;
        backoffOperations = inefficient ? (long) items.size() << backoffExponent : 0;
    }

    /// Counts an operation of the pause.
    ///
    /// @return whether the plan may be locked again
    boolean advanceBackoff() {
        return backoffOperations == 0 || --backoffOperations == 0;
    }
}
