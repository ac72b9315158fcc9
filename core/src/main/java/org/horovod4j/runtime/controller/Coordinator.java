package org.horovod4j.runtime.controller;

import org.horovod4j.runtime.cache.CacheBook;
import org.horovod4j.runtime.fusion.Fusion;
import org.horovod4j.runtime.message.Disagreement;
import org.horovod4j.runtime.message.FromRank;
import org.horovod4j.runtime.message.FromRank.Ask;
import org.horovod4j.runtime.message.Kind;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.ToRanks;
import org.horovod4j.runtime.message.ToRanks.Named;
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
/// when a plan is locked and unlocked. Nothing here waits or sends: messages go in by [#hear] and
/// come out by [#decisions].
public final class Coordinator {
    private final List<Integer> worldRanks;
    private final int size;
    private final Rules rules;
    private final Watcher watcher;
    private final CacheBook cache;
    private final Map<String, Tally> tallies = new LinkedHashMap<>();
    private final List<Tally> ready = new ArrayList<>();
    private final Planner planner;
    private final BitSet joined = new BitSet();
    private final BitSet stopped = new BitSet();
    private final BitSet cleaned = new BitSet();
    private List<ToRanks> decisions = new ArrayList<>();
    private Tuning tuning;
    private @Nullable Tuning wanted;
    private State state = State.NEGOTIATING;
    private long epoch;
    private long said;

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
        CLEANING
    }

    /// What the coordinator may do.
    ///
    /// @param cacheCapacity how many requests are cached
    /// @param groupFusion whether groups may be joined with other tensors
    /// @param planLocking whether steps that repeat become plans
    /// @param averageOverLive whether an average counts the ranks that have not joined, rather than
    ///     all
    /// @param fusesFreely bytes that may be fused as chance has it, without a trace in the results
    public record Rules(
            int cacheCapacity,
            boolean groupFusion,
            boolean planLocking,
            boolean averageOverLive,
            LongSupplier fusesFreely) {}

    /// Hears who has asked for what.
    @FunctionalInterface
    public interface Watcher {
        void reported(String tensor, int rank);
    }

    /// @param worldRanks the ranks of the process set, as ranks of the world
    public Coordinator(List<Integer> worldRanks, Rules rules, Tuning tuning, Watcher watcher) {
        this.worldRanks = List.copyOf(worldRanks);
        this.size = worldRanks.size();
        this.rules = rules;
        this.tuning = tuning;
        this.watcher = watcher;
        this.cache = new CacheBook(rules.cacheCapacity, size);
        this.planner = new Planner(size, rules.groupFusion, tuning);
    }

    /// Takes in what a rank says.
    ///
    /// @param rank its rank in the process set
    public void hear(int rank, FromRank message) {
        switch (message) {
            case FromRank.Submit submit -> submitted(rank, submit);
            case FromRank.Join(long when) -> {
                if (when == epoch) {
                    join(rank);
                }
            }
            case FromRank.Deviate(long completed, boolean fault) ->
                    deviated(rank, completed, fault);
            case FromRank.Stopped(boolean gaveUp) -> {
                abandoned |= gaveUp;
                stopped(rank);
            }
            case FromRank.Ready() -> {
                cleaned.set(rank);
                if (cleaned.cardinality() == size) {
                    state = State.NEGOTIATING;
                }
            }
        }
    }

    /// What all ranks are to do, in this order; each decision is given once.
    public List<ToRanks> decisions() {
        if (state == State.NEGOTIATING) {
            answer();
        }
        if (decisions.isEmpty()) {
            return List.of();
        }
        List<ToRanks> due = decisions;
        decisions = new ArrayList<>();
        return due;
    }

    /// Wants another tuning: at once, or, while a plan is locked, as soon as nobody follows it, for
    /// which the caller sees that its own rank deviates.
    public void retune(Tuning other) {
        wanted = other;
        if (state == State.NEGOTIATING) {
            leavePlan();
        }
    }

    private void submitted(int rank, FromRank.Submit submit) {
        cache.seen(rank, submit.seen());
        if (submit.epoch() != epoch) {
            return; // said before the rank heard of a plan, in which these have their places now
        }
        List<Request> asks = submit.asks().stream().map(ask -> request(rank, ask)).toList();
        for (int i = 0; i < asks.size(); i++) {
            if (rank == 0 && lock(asks.subList(i, asks.size()), submit.segment())) {
                return;
            }
            count(rank, asks.get(i), submit.segment());
        }
    }

    private Request request(int rank, Ask ask) {
        return switch (ask) {
            case FromRank.Fresh(Request fresh) -> fresh;
            case FromRank.Known(int slot) -> known(rank, slot);
        };
    }

    private Request known(int rank, int slot) {
        Request request = cache.request(slot);
        if (request == null) {
            throw new IllegalStateException(
                    "rank %d asks for cache slot %d, which is not known"
                            .formatted(worldRanks.get(rank), slot));
        }
        return request;
    }

    private void count(int rank, Request request, long segment) {
        Tally tally = tallies.computeIfAbsent(request.name(), name -> new Tally(name, size));
        tally.add(rank, request, segment);
        watcher.reported(request.name(), worldRanks.get(rank));
        if (rank == 0 && joined.isEmpty() && rules.planLocking) {
            planner.asked(tally, request, segment);
        }
        if (isReady(tally)) {
            becomesReady(tally);
        }
    }

    private void becomesReady(Tally tally) {
        if (tally.becomeReady()) {
            ready.add(tally);
        }
    }

    private boolean isReady(Tally tally) {
        if (tally.count() == size) {
            return true;
        }
        for (int rank = joined.nextClearBit(0); rank < size; rank = joined.nextClearBit(rank + 1)) {
            if (!tally.has(rank)) {
                return false;
            }
        }
        return true;
    }

    private void join(int rank) {
        joined.set(rank);
        lastJoined = rank;
        planner.forget();
        for (Tally tally : tallies.values()) {
            if (isReady(tally)) {
                becomesReady(tally);
            }
        }
    }

    /// Answers all that is ready, and says so when all have joined.
    private void answer() {
        if (!ready.isEmpty()) {
            List<Tally> agreed = new ArrayList<>();
            for (Tally tally : ready) {
                tallies.remove(tally.name());
                String objection = objection(tally);
                if (objection == null) {
                    agreed.add(tally);
                } else {
                    planner.forget();
                    decide(new ToRanks.Fail(tally.name(), objection));
                    operations++;
                }
            }
            ready.clear();
            run(agreed);
            agreed.forEach(Tally::decided);
        }
        if (joined.cardinality() == size) {
            decide(new ToRanks.Joined(worldRanks.get(lastJoined)));
            operations++;
            joined.clear();
        }
    }

    /// Why an operation cannot run, or null.
    private @Nullable String objection(Tally tally) {
        if (!tally.isAgreed()) {
            SortedMap<Integer, Request> asked = new TreeMap<>();
            tally.requests().forEach((rank, request) -> asked.put(worldRanks.get(rank), request));
            return new Disagreement(asked).describe();
        }
        return joined.isEmpty() ? null : objectionToJoin(tally);
    }

    /// Why an operation cannot run while ranks have joined, or null.
    private @Nullable String objectionToJoin(Tally tally) {
        Request request = tally.first();
        if (request.kind() == Kind.BROADCAST
                && !tally.has(worldRanks.indexOf(request.rootRank()))) {
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

    private void run(List<Tally> agreed) {
        if (agreed.isEmpty()) {
            return;
        }
        List<Fusion.Item> items = agreed.stream().map(tally -> tally.item(0)).toList();
        long limit = Math.min(tuning.fusionThreshold(), rules.fusesFreely.getAsLong());
        for (List<Integer> batch : new Fusion(limit, rules.groupFusion).batches(items)) {
            List<Integer> evicted = new ArrayList<>();
            List<Named> named =
                    batch.stream().map(i -> named(agreed.get(i).first(), evicted)).toList();
            int bringing = items.get(batch.getFirst()).ranks();
            decide(new ToRanks.Run(named, rules.averageOverLive ? bringing : size));
            operations++;
            if (!evicted.isEmpty()) { // after the run, which may still name them
                decide(new ToRanks.Evict(evicted));
            }
        }
    }

    private Named named(Request request, List<Integer> evicted) {
        int slot = cache.slot(request);
        return slot >= 0
                ? new ToRanks.Cached(slot)
                : new ToRanks.Introduced(request, cache.add(request, evicted, said + 1));
    }

    /// Locks a plan if what this rank's program submits now begins one.
    private boolean lock(List<Request> asks, long segment) {
        if (!rules.planLocking
                || state != State.NEGOTIATING
                || !joined.isEmpty()
                || !ready.isEmpty()) {
            return false;
        }
        Planner.Start start = planner.start(asks, segment, tallies.values());
        if (start == null) {
            return false;
        }
        forget();
        epoch++;
        state = State.LOCKED;
        lockedAt = operations;
        KnownPlan plan = start.plan();
        decide(new ToRanks.Lock(plan.number(), plan.introduction(), start.batch()));
        return true;
    }

    /// A new epoch begins, in which the ranks ask again for whatever is in flight.
    private void forget() {
        tallies.clear();
        ready.clear();
        joined.clear();
        planner.forget();
    }

    private void deviated(int rank, long completed, boolean fault) {
        if (state == State.LOCKED) {
            state = State.UNLOCKING;
            planner.left(fault, completed - lockedAt);
            operations = completed;
            decide(new ToRanks.Unlock(completed));
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
        forget();
        tune();
        epoch++;
        decide(new ToRanks.Unlocked(abandoned));
        if (abandoned) {
            abandoned = false;
            cleaned.clear();
            state = State.CLEANING;
        } else {
            state = State.NEGOTIATING;
        }
    }

    /// Tells the ranks of a new tuning, and forms the batches of the last plan anew.
    private void tune() {
        Tuning other = wanted;
        if (other == null) {
            return;
        }
        abandoned |= other.streams() != tuning.streams(); // links must be opened anew
        wanted = null;
        tuning = other;
        planner.retune(other);
        decide(new ToRanks.Tune(other));
    }

    private void decide(ToRanks decision) {
        said++;
        decisions.add(decision);
    }

    @Override
    public String toString() {
        return "coordinator of ranks %s, %s, asked for %s"
                .formatted(Arrays.toString(worldRanks.toArray()), state, tallies.keySet());
    }
}
