package org.horovod4j.runtime.controller;

import org.horovod4j.runtime.fusion.Fusion;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.spi.Tuning;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Finds steps that repeat, and says when a plan made of one can be followed.
final class Planner {
    private static final int MAX_PLANS = 8;

    private final int ranks;
    private final boolean groupFusion;
    private final History history = new History();

    /// Most recently followed first.
    private final Deque<KnownPlan> plans = new ArrayDeque<>();

    private Tuning tuning;
    private long planCount;
    private long lastSegment = -1;

    /// @param ranks how many the process set has
    /// @param groupFusion whether groups may be joined with other tensors
    Planner(int ranks, boolean groupFusion, Tuning tuning) {
        this.ranks = ranks;
        this.groupFusion = groupFusion;
        this.tuning = tuning;
    }

    /// A plan to follow, and where to begin.
    record Start(KnownPlan plan, int batch) {}

    /// Notes what the coordinator's own program has asked for.
    void asked(Tally tally, Request request, long segment) {
        lastSegment = segment;
        history.add(tally, request);
    }

    /// Something has happened that is part of no step.
    void forget() {
        history.clear();
        lastSegment = -1;
    }

    /// The plan that begins with what the program asks for now, if there is one and all else that
    /// is asked for has a place in it.
    ///
    /// @param asks what the coordinator's program asks for, beginning with the operation in
    ///     question
    /// @param segment the program's segment; see [org.horovod4j.runtime.message.FromRank.Submit]
    /// @param outstanding what ranks have asked for and not got
    @Nullable Start start(List<Request> asks, long segment, Collection<Tally> outstanding) {
        Request next = asks.getFirst();
        for (KnownPlan plan : plans) {
            boolean rested = plan.rest();
            int batch = plan.startingWith(next);
            if (rested && batch >= 0 && fits(plan, asks, outstanding)) {
                plans.remove(plan);
                plans.addFirst(plan);
                return new Start(plan, batch);
            }
        }
        return segment != lastSegment && history.repeats(next) ? learnt(asks, outstanding) : null;
    }

    private @Nullable Start learnt(List<Request> asks, Collection<Tally> outstanding) {
        List<Tally> step = history.step();
        if (step.stream().anyMatch(tally -> tally.count() < ranks)) {
            return null; // some rank has not asked yet, so nobody knows what may travel together
        }
        List<Fusion.Item> items = items(step);
        if (plans.stream().anyMatch(plan -> plan.isSame(items))) {
            return null; // it rests
        }
        KnownPlan plan = planned(items);
        if (!fits(plan, asks, outstanding)) {
            return null;
        }
        plans.addFirst(plan);
        if (plans.size() > MAX_PLANS) {
            plans.removeLast();
        }
        return new Start(plan, 0);
    }

    /// The step's operations, their segments numbered in the order of the step.
    private List<Fusion.Item> items(List<Tally> step) {
        Map<Long, Long> segments = new HashMap<>();
        List<Fusion.Item> items = new ArrayList<>();
        for (Tally tally : step) {
            long segment = segments.computeIfAbsent(tally.segments(), _ -> (long) segments.size());
            items.add(tally.item(segment));
        }
        return items;
    }

    private KnownPlan planned(List<Fusion.Item> items) {
        return new KnownPlan(++planCount, items, new Fusion(tuning.fusionThreshold(), groupFusion));
    }

    private static boolean fits(KnownPlan plan, List<Request> asks, Collection<Tally> outstanding) {
        return asks.stream().allMatch(plan::has)
                && outstanding.stream().allMatch(tally -> tally.allMatch(plan::has));
    }

    /// Notes that the plan last followed was left.
    ///
    /// @param fault whether a rank waited for what the plan kept back
    /// @param operations how many of its operations ran
    void left(boolean fault, long operations) {
        plans.getFirst().left(fault, operations);
    }

    /// Forms the batches of the plan last followed anew, and forgets all others.
    void retune(Tuning other) {
        tuning = other;
        KnownPlan last = plans.peekFirst();
        plans.clear();
        if (last != null) {
            plans.add(planned(last.items()));
        }
    }
}
