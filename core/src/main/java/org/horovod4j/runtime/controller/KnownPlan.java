package org.horovod4j.runtime.controller;

import org.horovod4j.runtime.fusion.Fusion;
import org.horovod4j.runtime.fusion.Plan;
import org.horovod4j.runtime.message.Request;

import java.util.List;

/// A plan as the coordinator remembers it between the times that it is locked.
final class KnownPlan {
    /// A lock that lasted for fewer steps than this was not worth it.
    private static final int WORTHWHILE_STEPS = 4;

    private static final int MAX_FAULTS = 16;

    /// How far short locks alone can take it: to lock and to leave costs no more than a few
    /// operations.
    private static final int MAX_HASTE = 2;

    private final List<Fusion.Item> items;
    private final List<List<Request>> batches;
    private final Plan plan;
    private boolean told;
    private int faults;
    private long rest;

    /// @param items the operations of the step, in order
    KnownPlan(long number, List<Fusion.Item> items, Fusion fusion) {
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

    /// Its batches the first time, nothing later: the ranks keep them.
    List<List<Request>> introduction() {
        List<List<Request>> said = told ? List.of() : batches;
        told = true;
        return said;
    }

    /// Which batch begins with `request`, or -1.
    int startingWith(Request request) {
        return plan.startingWith(request);
    }

    boolean has(Request request) {
        return plan.has(request);
    }

    /// Whether it is made of these operations, wherever they begin.
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

    /// Lets the plan rest when it was a poor one: twice as long each time, if a rank had to wait.
    ///
    /// @param fault whether a rank waited for what the plan kept back
    /// @param operations how many of its operations ran
    void left(boolean fault, long operations) {
        boolean poor = fault || operations < (long) WORTHWHILE_STEPS * batches.size();
        int most = fault ? MAX_FAULTS : Math.max(faults, MAX_HASTE);
        faults = poor ? Math.min(faults + 1, most) : 0;
        rest = poor ? (long) items.size() << faults : 0;
    }

    /// Rests for one more operation.
    ///
    /// @return whether it has rested enough to be followed again
    boolean rest() {
        return rest == 0 || --rest == 0;
    }
}
