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
import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/// Agrees with all ranks of a process set what runs next: rank 0 has one beside its own [Follower].
///
/// It is told who asks for what, and says in one order for all what is to be run, what failed, and
/// when a plan is locked and unlocked. Nothing here waits or sends: messages go in by [#receive] and
/// come out by [#decisions].
public final class Coordinator {
    private final List<Integer> worldRanks;
    private final int size;
    private final CoordinatorSettings settings;
    private final RequestListener requestListener;
    private final CoordinatorCache cache;
    private final Map<String, RequestTally> tallies = new LinkedHashMap<>();
    private final List<RequestTally> ready = new ArrayList<>();
    private final Planner planner;
    private final BitSet joined = new BitSet();
    private final BitSet stopped = new BitSet();
    private final BitSet resetDone = new BitSet();
    private List<CoordinatorMessage> decisions = new ArrayList<>();
    private Tuning tuning;
    private @Nullable Tuning pendingTuning;
    private State state = State.NEGOTIATING;
    private long epoch;
    private long decisionCount;

    /// How many operations have been decided on, well or not, joins too, and how many when the plan
    /// was locked.
    private long operations;

    private long lockedAt;
    private int lastJoined = -1;
    private boolean abandoned;

    private enum State {
        /// Ranks ask, and are answered.
        NEGOTIATING,
        /// All ranks follow a plan.
        LOCKED,
        /// Some ranks may still be in an operation of the plan.
        UNLOCKING,
        /// Ranks clean up after an abandoned operation.
        RESETTING
    }

    /// What the coordinator may do.
    ///
    /// @param cacheCapacity how many requests are cached
    /// @param groupFusion whether groups may be joined with other tensors
    /// @param planLocking whether steps that repeat become plans
    /// @param averageOverLive whether an average counts the ranks that have not joined, rather than
    ///     all
    /// @param fusesFreely bytes that may be fused as chance has it, without a trace in the results
    public record CoordinatorSettings(
            int cacheCapacity,
            boolean groupFusion,
            boolean planLocking,
            boolean averageOverLive,
            LongSupplier fusesFreely) {}

    /// Hears who has asked for what.
    @FunctionalInterface
    public interface RequestListener {
        void onRequest(String tensor, int rank);
    }

    /// @param worldRanks the ranks of the process set, as ranks of the world
    public Coordinator(
            List<Integer> worldRanks,
            CoordinatorSettings coordinatorSettings,
            Tuning tuning,
            RequestListener requestListener) {
        this.worldRanks = List.copyOf(worldRanks);
        this.size = worldRanks.size();
        this.settings = coordinatorSettings;
        this.tuning = tuning;
        this.requestListener = requestListener;
        this.cache = new CoordinatorCache(coordinatorSettings.cacheCapacity, size);
        this.planner = new Planner(size, coordinatorSettings.groupFusion, tuning);
    }

    /// Takes in what a rank says.
    ///
    /// @param rank its rank in the process set
    public void receive(int rank, RankMessage message) {
        switch (message) {
            case RankMessage.Submit submit -> submitted(rank, submit);
            case RankMessage.Join(long when) -> {
                if (when == epoch) {
                    join(rank);
                }
            }
            case RankMessage.Deviate(long completed, boolean fault) ->
                    deviated(rank, completed, fault);
            case RankMessage.Stopped(boolean gaveUp) -> {
                abandoned |= gaveUp;
                stopped(rank);
            }
            case RankMessage.Ready() -> {
                resetDone.set(rank);
                if (resetDone.cardinality() == size) {
                    state = State.NEGOTIATING;
                }
            }
        }
    }

    /// What all ranks are to do, in this order; each decision is given once.
    public List<CoordinatorMessage> decisions() {
        if (state == State.NEGOTIATING) {
            decideReady();
        }
        if (decisions.isEmpty()) {
            return List.of();
        }
        List<CoordinatorMessage> due = decisions;
        decisions = new ArrayList<>();
        return due;
    }

    /// Wants another tuning: at once, or, while a plan is locked, as soon as nobody follows it, for
    /// which the caller sees that its own rank deviates.
    public void retune(Tuning other) {
        pendingTuning = other;
        if (state == State.NEGOTIATING) {
            leavePlan();
        }
    }

    private void submitted(int rank, RankMessage.Submit submit) {
        cache.acknowledge(rank, submit.decisionsSeen());
        if (submit.epoch() != epoch) {
            return; // said before the rank heard of a plan, in which these have their places now
        }
        List<Request> asks =
                submit.requests().stream().map(requestRef -> request(rank, requestRef)).toList();
        for (int i = 0; i < asks.size(); i++) {
            if (rank == 0 && lock(asks.subList(i, asks.size()), submit.segment())) {
                return;
            }
            addRequest(rank, asks.get(i), submit.segment());
        }
    }

    private Request request(int rank, RequestRef requestRef) {
        return switch (requestRef) {
            case RankMessage.NewRequest(Request fresh) -> fresh;
            case RankMessage.CachedRequest(int slot) -> cachedRequest(rank, slot);
        };
    }

    private Request cachedRequest(int rank, int slot) {
        Request request = cache.request(slot);
        if (request == null) {
            throw new IllegalStateException(
                    "rank %d asks for cache slot %d, which is not known"
                            .formatted(worldRanks.get(rank), slot));
        }
        return request;
    }

    private void addRequest(int rank, Request request, long segment) {
        RequestTally requestTally =
                tallies.computeIfAbsent(request.name(), name -> new RequestTally(name, size));
        requestTally.add(rank, request, segment);
        requestListener.onRequest(request.name(), worldRanks.get(rank));
        if (rank == 0 && joined.isEmpty() && settings.planLocking) {
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
        if (requestTally.count() == size) {
            return true;
        }
        for (int rank = joined.nextClearBit(0); rank < size; rank = joined.nextClearBit(rank + 1)) {
            if (!requestTally.has(rank)) {
                return false;
            }
        }
        return true;
    }

    private void join(int rank) {
        joined.set(rank);
        lastJoined = rank;
        planner.clearHistory();
        for (RequestTally requestTally : tallies.values()) {
            if (isReady(requestTally)) {
                markReady(requestTally);
            }
        }
    }

    /// Answers all that is ready, and says so when all have joined.
    private void decideReady() {
        if (!ready.isEmpty()) {
            List<RequestTally> agreed = new ArrayList<>();
            for (RequestTally requestTally : ready) {
                tallies.remove(requestTally.name());
                String objection = failureReason(requestTally);
                if (objection == null) {
                    agreed.add(requestTally);
                } else {
                    planner.clearHistory();
                    decide(new CoordinatorMessage.Fail(requestTally.name(), objection));
                    operations++;
                }
            }
            ready.clear();
            run(agreed);
            agreed.forEach(RequestTally::clearRequests);
        }
        if (joined.cardinality() == size) {
            decide(new CoordinatorMessage.Joined(lastJoined));
            operations++;
            joined.clear();
        }
    }

    /// Why an operation cannot run, or null.
    private @Nullable String failureReason(RequestTally requestTally) {
        if (!requestTally.isAgreed()) {
            SortedMap<Integer, Request> asked = new TreeMap<>();
            requestTally
                    .requests()
                    .forEach((rank, request) -> asked.put(worldRanks.get(rank), request));
            return new MismatchReport(asked).describe();
        }
        return joined.isEmpty() ? null : failureReasonAfterJoin(requestTally);
    }

    /// Why an operation cannot run while ranks have joined, or null.
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
        boolean scaled =
                switch (request.op()) {
                    case PRODUCT -> prescale != 1.0;
                    case MIN, MAX -> prescale <= 0;
                    case SUM, AVERAGE, ADASUM -> false;
                };
        return scaled
                ? """
                %s: while ranks have joined, %s cannot be prescaled by %s, for they bring nothing \
                that could be scaled
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
        long limit = Math.min(tuning.fusionThreshold(), settings.fusesFreely.getAsLong());
        for (List<Integer> batch : new Fusion(limit, settings.groupFusion).batches(items)) {
            List<Integer> evicted = new ArrayList<>();
            List<OperationRef> named =
                    batch.stream().map(i -> named(agreed.get(i).first(), evicted)).toList();
            int bringing = items.get(batch.getFirst()).ranks();
            decide(new CoordinatorMessage.Run(named, settings.averageOverLive ? bringing : size));
            operations++;
            if (!evicted.isEmpty()) { // after the run, which may still name them
                decide(new CoordinatorMessage.Evict(evicted));
            }
        }
    }

    private OperationRef named(Request request, List<Integer> evicted) {
        int slot = cache.slot(request);
        return slot >= 0
                ? new CoordinatorMessage.Cached(slot)
                : new CoordinatorMessage.Uncached(
                        request, cache.add(request, evicted, decisionCount + 1));
    }

    /// Locks a plan if what this rank's program submits now begins one.
    private boolean lock(List<Request> asks, long segment) {
        if (!settings.planLocking
                || state != State.NEGOTIATING
                || !joined.isEmpty()
                || !ready.isEmpty()) {
            return false;
        }
        Planner.Start start = planner.start(asks, segment, tallies.values());
        if (start == null) {
            return false;
        }
        clearRequests();
        epoch++;
        state = State.LOCKED;
        lockedAt = operations;
        LearnedPlan plan = start.plan();
        decide(new CoordinatorMessage.Lock(plan.number(), plan.batchesToSend(), start.batch()));
        return true;
    }

    /// A new epoch begins, in which the ranks ask again for whatever is in flight.
    private void clearRequests() {
        tallies.clear();
        ready.clear();
        joined.clear();
        planner.clearHistory();
    }

    private void deviated(int rank, long completed, boolean fault) {
        if (state == State.LOCKED) {
            state = State.UNLOCKING;
            planner.unlocked(fault, completed - lockedAt);
            operations = completed;
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

    /// Nobody follows a plan any more, so that operations can be agreed on again.
    private void leavePlan() {
        stopped.clear();
        clearRequests();
        applyTuning();
        epoch++;
        decide(new CoordinatorMessage.Unlocked(abandoned));
        if (abandoned) {
            abandoned = false;
            resetDone.clear();
            state = State.RESETTING;
        } else {
            state = State.NEGOTIATING;
        }
    }

    /// Tells the ranks of a new tuning, and forms the batches of the last plan anew.
    private void applyTuning() {
        Tuning other = pendingTuning;
        if (other == null) {
            return;
        }
        abandoned |= other.streams() != tuning.streams(); // links must be opened anew
        pendingTuning = null;
        tuning = other;
        planner.retune(other);
        decide(new CoordinatorMessage.Tune(other));
    }

    private void decide(CoordinatorMessage decision) {
        decisionCount++;
        decisions.add(decision);
    }

    @Override
    public String toString() {
        return "coordinator of ranks %s, %s, asked for %s"
                .formatted(Arrays.toString(worldRanks.toArray()), state, tallies.keySet());
    }
}
