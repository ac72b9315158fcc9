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

/// Finds steps that repeat, and decides when a plan of such a step can be locked.
final class Planner {
    private final int ranks;
    private final boolean groupFusion;
    private final SubmissionHistory submissionHistory = new SubmissionHistory();

    /// Most recently locked first.
    private final Deque<LearnedPlan> plans = new ArrayDeque<>();

    private Tuning tuning;
    private long planCount;
    private long lastSegment = -1;

    /// @param ranks the number of ranks in the process set
    /// @param groupFusion whether a group may be fused with other tensors
    Planner(int ranks, boolean groupFusion, Tuning tuning) {
        this.ranks = ranks;
        this.groupFusion = groupFusion;
        this.tuning = tuning;
    }

    /// A plan to lock, and the batch to begin with.
    record Start(LearnedPlan plan, int batch) {}

    /// Adds a request of the coordinator's own program.
    void recordRequest(RequestTally requestTally, Request request, long segment) {
        lastSegment = segment;
        submissionHistory.add(requestTally, request);
    }

    /// Forgets the current step: something happened that is not part of a step.
    void clearHistory() {
        submissionHistory.clear();
        lastSegment = -1;
    }

    /// The plan that begins with the current submissions, or null. All other outstanding requests
    /// must have a place in it.
    ///
    /// @param requests the requests of the coordinator's program, beginning with the operation in
    ///     question
    /// @param segment the program's segment; see [org.horovod4j.runtime.message.RankMessage.Submit]
    /// @param outstanding the requests of all ranks that have not run
    @Nullable Start start(
            List<Request> requests, long segment, Collection<RequestTally> outstanding) {
        Request next = requests.getFirst();
        for (LearnedPlan plan : plans) {
            boolean isPauseOver = plan.advanceBackoff();
            int batch = plan.batchStartingWith(next);
            if (isPauseOver && batch >= 0 && fits(plan, requests, outstanding)) {
                plans.remove(plan);
                plans.addFirst(plan);
                return new Start(plan, batch);
            }
        }
        return segment != lastSegment && submissionHistory.repeats(next)
                ? startLearned(requests, outstanding)
                : null;
    }

    private @Nullable Start startLearned(
            List<Request> requests, Collection<RequestTally> outstanding) {
        List<RequestTally> step = submissionHistory.step();
        if (step.stream().anyMatch(requestTally -> requestTally.count() < ranks)) {
            return null; // a rank has not requested it yet, so its segments are not known
        }
        List<Fusion.Item> items = items(step);
        if (plans.stream().anyMatch(plan -> plan.isSame(items))) {
            return null; // it is known, and pauses
        }
        LearnedPlan plan = newPlan(items);
        if (!fits(plan, requests, outstanding)) {
            return null;
        }
        plans.addFirst(plan);
        if (plans.size() > Coordinator.MAX_PLANS) {
            plans.removeLast();
        }
        return new Start(plan, 0);
    }

    /// The operations of the step, with segments numbered in the order of the step.
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

    private LearnedPlan newPlan(List<Fusion.Item> items) {
        return new LearnedPlan(
                ++planCount,
                items,
                new Fusion(tuning.fusionThreshold(), tuning.fusionThreshold(), groupFusion));
    }

    private static boolean fits(
            LearnedPlan plan, List<Request> requests, Collection<RequestTally> outstanding) {
        return requests.stream().allMatch(plan::contains)
                && outstanding.stream()
                        .allMatch(requestTally -> requestTally.allMatch(plan::contains));
    }

    /// Records that the ranks have left the plan.
    ///
    /// @param stuck whether a rank waited for an operation that the plan held back
    /// @param batchCount how many batches of the plan ran
    void unlocked(boolean stuck, long batchCount) {
        plans.getFirst().unlocked(stuck, batchCount);
    }

    /// Forms the batches of the last plan again, and forgets all other plans.
    void retune(Tuning newTuning) {
        tuning = newTuning;
        LearnedPlan last = plans.peekFirst();
        plans.clear();
        if (last != null) {
            plans.add(newPlan(last.items()));
        }
    }
}
