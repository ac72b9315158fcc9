package org.horovod4j.runtime.controller;

import org.horovod4j.runtime.cache.CoordinatorCache;
import org.horovod4j.runtime.fusion.Fusion;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.runtime.message.CoordinatorMessage;
import org.horovod4j.runtime.message.CoordinatorMessage.OperationRef;
import org.horovod4j.runtime.message.MismatchReport;
import org.horovod4j.runtime.message.RankMessage;
import org.horovod4j.runtime.message.RankMessage.RequestRef;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.spi.Tuning;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/// Decides for all ranks of a process set what runs next. It exists only on rank 0 of the set, in
/// addition to that rank's own `Follower`.
///
/// It receives the requests of the ranks. It decides what runs, what fails, and when a plan is
/// locked and unlocked. All ranks receive these decisions in the same order. The coordinator does
/// not wait and does no I/O: the caller passes messages to [#receive] and takes decisions from
/// [#decisions].
public final class Coordinator {
    /// The number of plans that are kept.
    public static final int MAX_PLANS = 8;

    private final List<Integer> jobRanks;
    private final int size;
    private final CoordinatorSettings settings;
    private final RequestListener requestListener;
    private final CoordinatorCache cache;
    private final Map<String, RequestTally> tallies = new LinkedHashMap<>();
    private final List<RequestTally> ready = new ArrayList<>();
    private final CallConflicts callConflicts = new CallConflicts();
    private final Planner planner;
    private final BitSet joined = new BitSet();
    private final FailedStep failedStep = new FailedStep();
    private final BitSet stopped = new BitSet();
    private final BitSet resetDone = new BitSet();
    private List<CoordinatorMessage> decisions = new ArrayList<>();
    private Tuning tuning;
    private @Nullable Tuning pendingTuning;
    private State state = State.NEGOTIATING;
    private long epoch;
    private long decisionCount;

    /// The number of batches decided so far. A failed operation and a completed join count as one
    /// batch each.
    private long batchCount;

    /// The value of `batchCount` when the plan was locked.
    private long lockedAt;

    private int lastJoined = -1;

    /// Whether the ranks must reset the backend when all have left the plan: a batch was cancelled,
    /// or the number of streams changes.
    private boolean needsReset;

    private enum State {
        /// The coordinator decides on each request.
        NEGOTIATING,
        /// All ranks follow a plan, without messages.
        LOCKED,
        /// A rank has left the plan; others may still be in a batch of it.
        UNLOCKING,
        /// Ranks reset the backend after a cancelled batch.
        RESETTING
    }

    /// The options of the coordinator.
    ///
    /// @param cacheCapacity the number of cached requests
    /// @param groupFusion whether a group may be fused with other tensors
    /// @param planLocking whether repeated steps become plans
    /// @param averageExcludesJoined whether an average divides by the ranks that have not joined,
    ///     instead of all
    /// @param reproducibleFusionBytes the largest batch in bytes for which the results do not
    ///     depend on which operations are fused
    public record CoordinatorSettings(
            int cacheCapacity,
            boolean groupFusion,
            boolean planLocking,
            boolean averageExcludesJoined,
            LongSupplier reproducibleFusionBytes) {}

    /// Receives each request of a rank.
    @FunctionalInterface
    public interface RequestListener {
        void onRequest(String tensor, int rank);
    }

    /// @param jobRanks the ranks of the process set, as job ranks
    public Coordinator(
            List<Integer> jobRanks,
            CoordinatorSettings coordinatorSettings,
            Tuning tuning,
            RequestListener requestListener) {
        this.jobRanks = List.copyOf(jobRanks);
        this.size = jobRanks.size();
        this.settings = coordinatorSettings;
        this.tuning = tuning;
        this.requestListener = requestListener;
        this.cache = new CoordinatorCache(coordinatorSettings.cacheCapacity, size);
        this.planner = new Planner(size, coordinatorSettings.groupFusion, tuning);
    }

    /// Handles a message of a rank.
    ///
    /// @param rank its rank in the process set
    public void receive(int rank, RankMessage message) {
        switch (message) {
            case RankMessage.Submit submit -> submitted(rank, submit);
            case RankMessage.Join(long rankEpoch) -> {
                if (rankEpoch == epoch) {
                    join(rank);
                }
            }
            case RankMessage.FailStep(long rankEpoch, String reason) -> {
                if (rankEpoch == epoch) {
                    failStep(rank, reason);
                }
            }
            case RankMessage.Deviate(long completed, boolean stuck) ->
                    deviated(rank, completed, stuck);
            case RankMessage.Stopped(boolean cancelled) -> {
                needsReset |= cancelled;
                stopped(rank);
            }
            case RankMessage.ResetDone() -> {
                resetDone.set(rank);
                if (resetDone.cardinality() == size) {
                    state = State.NEGOTIATING;
                }
            }
        }
    }

    /// Removes and returns the new decisions, in the order in which all ranks carry them out.
    public List<CoordinatorMessage> decisions() {
        if (state == State.NEGOTIATING) {
            decideReady();
        }
        if (decisions.isEmpty()) {
            return List.of();
        }
        List<CoordinatorMessage> drained = decisions;
        decisions = new ArrayList<>();
        return drained;
    }

    /// Changes the tuning: at once, or, if a plan is locked, when all ranks have left it. The
    /// caller makes its own rank leave the plan.
    public void retune(Tuning newTuning) {
        pendingTuning = newTuning;
        if (state == State.NEGOTIATING) {
            leavePlan();
        }
    }

    private void submitted(int rank, RankMessage.Submit submit) {
        cache.acknowledge(rank, submit.decisionsSeen());
        if (submit.epoch() != epoch) {
            // Sent before the rank saw that a plan was locked or unlocked. The rank then puts these
            // entries into the plan or requests them again.
            return;
        }
        List<Request> requests =
                submit.requests().stream().map(requestRef -> request(rank, requestRef)).toList();
        for (int i = 0; i < requests.size(); i++) {
            if (rank == 0 && lock(requests.subList(i, requests.size()), submit.segment())) {
                return;
            }
            addRequest(rank, requests.get(i), submit.segment());
        }
    }

    private Request request(int rank, RequestRef requestRef) {
        return switch (requestRef) {
            case RankMessage.NewRequest(Request request) -> request;
            case RankMessage.CachedRequest(int slot) -> cachedRequest(rank, slot);
        };
    }

    private Request cachedRequest(int rank, int slot) {
        Request request = cache.request(slot);
        if (request == null) {
            throw new IllegalStateException(
                    "rank %d requests cache slot %d, which does not exist"
                            .formatted(jobRanks.get(rank), slot));
        }
        return request;
    }

    private void addRequest(int rank, Request request, long segment) {
        RequestTally requestTally =
                tallies.computeIfAbsent(request.name(), name -> new RequestTally(name, size));
        requestTally.add(rank, request, segment);
        if (request.isPart() || !callConflicts.isEmpty()) {
            callConflicts.added(request, requestTally, tallies.get(request.programName()));
        }
        requestListener.onRequest(request.name(), jobRanks.get(rank));
        if (rank == 0 && joined.isEmpty() && failedStep.isEmpty() && settings.planLocking) {
            planner.recordRequest(requestTally, request, segment);
        }
        if (isReady(requestTally)) {
            markReady(requestTally);
        }
    }

    private void markReady(RequestTally requestTally) {
        if (requestTally.markReady()) {
            ready.add(requestTally);
        }
    }

    private boolean isReady(RequestTally requestTally) {
        return requestTally.count() == size
                || failedStep.lacks(requestTally)
                || RequestTally.haveAllSubmitted(joined, size, requestTally::has);
    }

    private void join(int rank) {
        joined.set(rank);
        lastJoined = rank;
        markAllReady();
    }

    private void failStep(int rank, String reason) {
        failedStep.add(rank, jobRanks.get(rank), reason);
        markAllReady();
    }

    /// Marks what is ready now that a rank submits nothing more.
    private void markAllReady() {
        planner.clearHistory();
        for (RequestTally requestTally : tallies.values()) {
            if (isReady(requestTally)) {
                markReady(requestTally);
            }
        }
    }

    /// Decides on all operations that are ready, on the join if all ranks have joined, and on the end
    /// of a failed step.
    private void decideReady() {
        if (!ready.isEmpty()) {
            List<RequestTally> agreed = new ArrayList<>();
            for (RequestTally requestTally : ready) {
                close(requestTally);
                String reason = failureReason(requestTally);
                if (reason == null) {
                    agreed.add(requestTally);
                } else {
                    fail(requestTally, reason);
                }
            }
            ready.clear();
            run(agreed);
            agreed.forEach(RequestTally::clearRequests);
        }
        callConflicts.take(tallies, joined, size).values().forEach(this::failConflict);
        if (joined.cardinality() == size) {
            decide(new CoordinatorMessage.Joined(lastJoined));
            batchCount++;
            joined.clear();
        }
        if (failedStep.hasEnded(joined, size)) {
            decide(new CoordinatorMessage.StepEnded(failedStep.lastRank()));
            batchCount++;
            failedStep.clear();
        }
    }

    /// Fails all operations of a name that the ranks use for different calls.
    private void failConflict(List<RequestTally> conflicting) {
        Map<Integer, Request> byRank = new HashMap<>();
        for (RequestTally requestTally : conflicting) {
            requestTally.requests().forEach(byRank::putIfAbsent);
        }
        String reason = mismatch(byRank);
        for (RequestTally requestTally : conflicting) {
            close(requestTally);
            fail(requestTally, reason);
        }
    }

    private void close(RequestTally requestTally) {
        tallies.remove(requestTally.name());
        if (!callConflicts.isEmpty()) {
            callConflicts.removed(requestTally);
        }
    }

    private void fail(RequestTally requestTally, String reason) {
        planner.clearHistory();
        List<Integer> ranks = List.copyOf(requestTally.requests().keySet());
        decide(new CoordinatorMessage.Fail(requestTally.name(), reason, ranks));
        batchCount++;
    }

    private String mismatch(Map<Integer, Request> byRank) {
        SortedMap<Integer, Request> byJobRank = new TreeMap<>();
        byRank.forEach((rank, request) -> byJobRank.put(jobRanks.get(rank), request));
        return new MismatchReport(byJobRank).describe();
    }

    /// The reason why an operation cannot run, or null.
    private @Nullable String failureReason(RequestTally requestTally) {
        if (failedStep.lacks(requestTally)) {
            return failedStep.describe(requestTally);
        }
        if (!requestTally.isAgreed()) {
            return mismatch(requestTally.requests());
        }
        return joined.isEmpty() ? null : failureReasonAfterJoin(requestTally);
    }

    /// The reason why an operation cannot run while ranks have joined, or null.
    private @Nullable String failureReasonAfterJoin(RequestTally requestTally) {
        Request request = requestTally.first();
        if (request.collectiveKind() == CollectiveKind.BROADCAST
                && !requestTally.has(request.rootRank())) {
            return """
            %s: root rank %d has joined, so it has nothing to send
            Broadcast from a rank that still has data, or before the join."""
                    .formatted(request, request.rootRank());
        }
        double prescale = request.scale().prescale();
        boolean isUndefined =
                switch (request.op()) {
                    case PRODUCT -> prescale != 1.0;
                    case MIN, MAX -> prescale <= 0;
                    case SUM, AVERAGE, ADASUM -> false;
                };
        return isUndefined
                ? """
                %s: while ranks have joined, %s cannot be prescaled by %s, because they contribute \
                nothing that could be scaled
                Use a postscale, or reduce before the join."""
                        .formatted(request, request.op(), prescale)
                : null;
    }

    private void run(List<RequestTally> agreed) {
        if (agreed.isEmpty()) {
            return;
        }
        List<Fusion.Item> items =
                agreed.stream().map(requestTally -> requestTally.item(0)).toList();
        long limit =
                Math.min(tuning.fusionThreshold(), settings.reproducibleFusionBytes.getAsLong());
        // Here fusion depends on timing. A device backend may add in an order that depends on the
        // place of a tensor in the fused array, so its tensors are fused in plans only.
        Fusion fusion = new Fusion(limit, 0, settings.groupFusion);
        for (List<Integer> batch : fusion.batches(items)) {
            List<Integer> evicted = new ArrayList<>();
            List<OperationRef> operations =
                    batch.stream().map(i -> operationRef(agreed.get(i).first(), evicted)).toList();
            int contributors = items.get(batch.getFirst()).ranks();
            decide(
                    new CoordinatorMessage.Run(
                            operations, settings.averageExcludesJoined ? contributors : size));
            batchCount++;
            if (!evicted.isEmpty()) { // after the run, which may still use these slots
                decide(new CoordinatorMessage.Evict(evicted));
            }
        }
    }

    private OperationRef operationRef(Request request, List<Integer> evicted) {
        int slot = cache.slot(request);
        return slot >= 0
                ? new CoordinatorMessage.Cached(slot)
                : new CoordinatorMessage.Uncached(
                        request, cache.add(request, evicted, decisionCount + 1));
    }

    /// Locks a plan if the current submissions of rank 0's program begin one.
    ///
    /// @param requests the requests that are not handled yet
    /// @return whether a plan is locked now
    private boolean lock(List<Request> requests, long segment) {
        if (!settings.planLocking
                || state != State.NEGOTIATING
                || !joined.isEmpty()
                || !failedStep.isEmpty()
                || !ready.isEmpty()) {
            return false;
        }
        Planner.Start start = planner.start(requests, segment, tallies.values());
        if (start == null) {
            return false;
        }
        clearRequests();
        epoch++;
        state = State.LOCKED;
        lockedAt = batchCount;
        LearnedPlan plan = start.plan();
        decide(new CoordinatorMessage.Lock(plan.number(), plan.batchesToSend(), start.batch()));
        return true;
    }

    /// Drops all requests, because a new epoch begins. The ranks put the operations in flight into
    /// the plan or request them again.
    private void clearRequests() {
        tallies.clear();
        callConflicts.clear();
        ready.clear();
        joined.clear();
        failedStep.clear();
        planner.clearHistory();
    }

    private void deviated(int rank, long completed, boolean stuck) {
        if (state == State.LOCKED) {
            state = State.UNLOCKING;
            planner.unlocked(stuck, completed - lockedAt);
            batchCount = completed;
            decide(new CoordinatorMessage.Unlock(completed));
        }
        stopped(rank);
    }

    private void stopped(int rank) {
        stopped.set(rank);
        if (stopped.cardinality() == size) {
            leavePlan();
        }
    }

    /// All ranks have left the plan, so operations are negotiated again.
    private void leavePlan() {
        stopped.clear();
        clearRequests();
        applyTuning();
        epoch++;
        decide(new CoordinatorMessage.Unlocked(needsReset));
        if (needsReset) {
            needsReset = false;
            resetDone.clear();
            state = State.RESETTING;
        } else {
            state = State.NEGOTIATING;
        }
    }

    /// Sends a new tuning to the ranks, and forms the batches of the last plan again.
    private void applyTuning() {
        Tuning newTuning = pendingTuning;
        if (newTuning == null) {
            return;
        }
        needsReset |= newTuning.streams() != tuning.streams(); // a reset opens the links again
        pendingTuning = null;
        tuning = newTuning;
        planner.retune(newTuning);
        decide(new CoordinatorMessage.Tune(newTuning));
    }

    private void decide(CoordinatorMessage decision) {
        decisionCount++;
        decisions.add(decision);
    }
}
