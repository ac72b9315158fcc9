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
    private final SubmissionHistory submissionHistory = new SubmissionHistory();

    /// Most recently followed first.
    private final Deque<LearnedPlan> plans = new ArrayDeque<>();

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
    record Start(LearnedPlan plan, int batch) {}

    /// Notes what the coordinator's own program has asked for.
    void recordRequest(RequestTally requestTally, Request request, long segment) {
        lastSegment = segment;
        submissionHistory.add(requestTally, request);
    }

    /// Something has happened that is part of no step.
    void clearHistory() {
        submissionHistory.clear();
        lastSegment = -1;
    }

    /// The plan that begins with what the program asks for now, if there is one and all else that
    /// is asked for has a place in it.
    ///
    /// @param asks what the coordinator's program asks for, beginning with the operation in
    ///     question
    /// @param segment the program's segment; see [org.horovod4j.runtime.message.RankMessage.Submit]
    /// @param outstanding what ranks have asked for and not got
    @Nullable Start start(List<Request> asks, long segment, Collection<RequestTally> outstanding) {
        Request next = asks.getFirst();
        for (LearnedPlan plan : plans) {
            boolean rested = plan.advanceBackoff();
            int batch = plan.batchStartingWith(next);
            if (rested && batch >= 0 && fits(plan, asks, outstanding)) {
                plans.remove(plan);
                plans.addFirst(plan);
                return new Start(plan, batch);
            }
        }
        return segment != lastSegment && submissionHistory.repeats(next)
                ? startLearned(asks, outstanding)
                : null;
    }

    private @Nullable Start startLearned(List<Request> asks, Collection<RequestTally> outstanding) {
        List<RequestTally> step = submissionHistory.step();
        if (step.stream().anyMatch(requestTally -> requestTally.count() < ranks)) {
            return null; // some rank has not asked yet, so nobody knows what may travel together
        }
        List<Fusion.Item> items = items(step);
        if (plans.stream().anyMatch(plan -> plan.isSame(items))) {
            return null; // it rests
        }
        LearnedPlan plan = planned(items);
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
    private List<Fusion.Item> items(List<RequestTally> step) {
        Map<Long, Long> segments = new HashMap<>();
        List<Fusion.Item> items = new ArrayList<>();
        for (RequestTally requestTally : step) {
            long segment =
                    segments.computeIfAbsent(
                            requestTally.segmentHash(), _ -> (long) segments.size());
            items.add(requestTally.item(segment));
        }
        return items;
    }

    private LearnedPlan planned(List<Fusion.Item> items) {
        return new LearnedPlan(
                ++planCount, items, new Fusion(tuning.fusionThreshold(), groupFusion));
    }

    private static boolean fits(
            LearnedPlan plan, List<Request> asks, Collection<RequestTally> outstanding) {
        return asks.stream().allMatch(plan::contains)
                && outstanding.stream()
                        .allMatch(requestTally -> requestTally.allMatch(plan::contains));
    }

    /// Notes that the plan last followed was left.
    ///
    /// @param fault whether a rank waited for what the plan kept back
    /// @param operations how many of its operations ran
    void unlocked(boolean fault, long operations) {
        plans.getFirst().unlocked(fault, operations);
    }

    /// Forms the batches of the plan last followed anew, and forgets all others.
    void retune(Tuning other) {
        tuning = other;
        LearnedPlan last = plans.peekFirst();
        plans.clear();
        if (last != null) {
            plans.add(planned(last.items()));
        }
    }
}
