package org.horovod4j.runtime.cycle;

import org.horovod4j.MismatchException;
import org.horovod4j.runtime.cache.RankCache;
import org.horovod4j.runtime.controller.SetState;
import org.horovod4j.runtime.cycle.CycleAgent.StepWatcher;
import org.horovod4j.runtime.cycle.TensorQueue.Deviation;
import org.horovod4j.runtime.dispatch.Dispatcher;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.fusion.Plan;
import org.horovod4j.runtime.message.FromRank;
import org.horovod4j.runtime.message.FromRank.Ask;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.ToRanks;
import org.horovod4j.runtime.queue.Entry;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.runtime.timeline.Collective;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.Clock;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/// Does what the coordinator says, and tells it what this rank wants: every rank has one.
///
/// Used by one thread at a time, the one that drives the cycle.
final class Follower {
    /// More plans than the coordinator remembers.
    private static final int MAX_PLANS = 16;

    private static final long PRIME = 0x9e3779b97f4a7c15L;
    private static final long NEVER = Long.MAX_VALUE;

    private final int processSet;
    private final int size;
    private final TensorQueue queue;
    private final SetState state;
    private final Backend backend;
    private final Dispatcher dispatcher;
    private final Recorder recorder;
    private final ActivityLog activities;
    private final Clock clock;
    private final Consumer<FromRank> coordinator;
    private final StepWatcher steps;
    private final RankCache cache = new RankCache();
    private final Map<Long, Plan> plans = new LinkedHashMap<>(16, 0.75f, true);
    private final Completion completion = new Completion();

    /// What recorders are told of the batches of a plan, each of which runs in every step.
    private final IdentityHashMap<Batch, Collective> described = new IdentityHashMap<>();

    private Mode mode = Mode.NEGOTIATING;
    private @Nullable Plan plan;
    private boolean joinTold;
    private boolean inPlan;

    /// Batches that have run since the program wanted something else.
    private int extra;

    private long stopAfter = NEVER;
    private long epoch;
    private long seen;
    private long cycleNanos;
    private long lastCycleNanos;
    private long stepBytes;
    private long stepNanos;

    enum Mode {
        /// Operations are asked for, and run when the coordinator says so.
        NEGOTIATING,
        /// Operations run as their tensors come, as the plan says.
        LOCKED,
        /// The plan is left; nothing runs until all ranks have left it.
        STOPPING
    }

    /// @param coordinator takes what this rank has to say
    Follower(
            AgentParts parts,
            TensorQueue queue,
            Consumer<FromRank> coordinator,
            StepWatcher steps) {
        this.processSet = parts.processSet();
        this.size = parts.size();
        this.queue = queue;
        this.state = parts.state();
        this.backend = parts.backend();
        this.dispatcher = parts.dispatcher();
        this.recorder = parts.recorder();
        this.activities = parts.activities();
        this.clock = parts.clock();
        this.coordinator = coordinator;
        this.steps = steps;
        this.cycleNanos = parts.tuning().cycleTime().toNanos();
    }

    Mode mode() {
        return mode;
    }

    /// Whether an operation of a plan is running, which may be abandoned.
    boolean isInPlan() {
        return inPlan;
    }

    /// Does what this rank can do by itself.
    ///
    /// @return whether there was anything
    boolean advance() {
        return switch (mode) {
            case NEGOTIATING -> ask();
            case LOCKED -> follow();
            case STOPPING -> false;
        };
    }

    /// Asks the coordinator for what the program has submitted, at most once in a cycle time.
    private boolean ask() {
        if (cycleNanos > 0) {
            long now = clock.nanoTime();
            if (now - lastCycleNanos < cycleNanos) {
                return false;
            }
            lastCycleNanos = now;
        }
        List<Entry<?>> entries = queue.drain();
        boolean asked = !entries.isEmpty();
        if (asked) {
            if (recorder.isOn()) {
                recorder.cycle();
            }
            ask(entries);
        }
        if (!joinTold && queue.joining() != null) {
            joinTold = true;
            coordinator.accept(new FromRank.Join(epoch));
            return true;
        }
        return asked;
    }

    private void ask(List<Entry<?>> entries) {
        long asking = epoch;
        List<Ask> asks = new ArrayList<>();
        long segment = entries.getFirst().segment();
        for (Entry<?> entry : entries) {
            if (entry.segment() != segment) {
                coordinator.accept(new FromRank.Submit(asking, seen, segment, asks));
                asks.clear();
                segment = entry.segment();
            }
            int slot = cache.slot(entry.request());
            asks.add(slot >= 0 ? new FromRank.Known(slot) : new FromRank.Fresh(entry.request()));
        }
        coordinator.accept(new FromRank.Submit(asking, seen, segment, asks));
    }

    /// Runs the plan's next batch, or leaves the plan when the program wants something else. What
    /// is complete by then runs first, up to a step of it, so that the plan is left where the
    /// program has left it rather than where chance has it.
    private boolean follow() {
        if (state.completed() >= stopAfter) {
            stop(new FromRank.Stopped(false));
            return true;
        }
        Batch batch = queue.ready();
        Deviation deviation = queue.deviation();
        if (batch != null && (deviation == Deviation.NONE || extra++ < plan().size())) {
            runPlanned(batch);
            return true;
        }
        if (deviation != Deviation.NONE) {
            stop(new FromRank.Deviate(state.completed(), deviation == Deviation.FAULT));
            return true;
        }
        return false;
    }

    private void runPlanned(Batch batch) {
        try {
            inPlan = true;
            perform(batch, plan().number(), size, true);
        } catch (AbandonedException e) {
            stop(new FromRank.Stopped(true));
            return;
        } finally {
            inPlan = false;
        }
        stepBytes += batch.byteSize();
        boolean stepEnds = queue.advance(completion);
        completion.run();
        if (stepEnds) {
            long now = clock.nanoTime();
            if (steps.stepped(stepBytes, now - stepNanos)) {
                queue.deviate(Deviation.WISH);
            }
            stepBytes = 0;
            stepNanos = now;
        }
    }

    private Plan plan() {
        return Objects.requireNonNull(plan, "a plan is locked");
    }

    private void stop(FromRank why) {
        mode = Mode.STOPPING;
        coordinator.accept(why);
    }

    /// Does what the coordinator has decided.
    void handle(ToRanks decision) {
        seen++;
        switch (decision) {
            case ToRanks.Run run -> run(run);
            case ToRanks.Fail(String name, String reason) -> fail(name, reason);
            case ToRanks.Joined(int lastRank) -> joined(lastRank);
            case ToRanks.Evict(List<Integer> slots) -> slots.forEach(cache::remove);
            case ToRanks.Lock lock -> lock(lock);
            case ToRanks.Unlock(long completed) -> unlock(completed);
            case ToRanks.Unlocked(boolean reset) -> unlocked(reset);
            case ToRanks.Tune(Tuning tuning) -> {
                cycleNanos = tuning.cycleTime().toNanos();
                backend.tune(tuning);
            }
        }
    }

    private void run(ToRanks.Run run) {
        List<Request> requests = run.tensors().stream().map(this::resolved).toList();
        Batch batch = new Batch(requests);
        for (int i = 0; i < batch.size(); i++) {
            Entry<?> entry = queue.find(requests.get(i).name());
            if (entry != null) {
                batch.put(i, entry);
            } else if (queue.joining() == null) {
                throw new IllegalStateException(
                        requests.get(i) + " is to run, but this rank has not asked for it");
            }
        }
        if (recorder.isOn()) {
            requests.forEach(request -> recorder.agreed(processSet, request.name()));
        }
        perform(batch, 0, run.divisor(), false);
        queue.release(batch, completion);
        completion.run();
    }

    private Request resolved(ToRanks.Named named) {
        return switch (named) {
            case ToRanks.Cached(int slot) -> {
                Request request = cache.request(slot);
                if (request == null) {
                    throw new IllegalStateException("cache slot " + slot + " is not known here");
                }
                yield request;
            }
            case ToRanks.Introduced(Request request, int slot) -> {
                if (slot >= 0) {
                    cache.put(slot, request);
                }
                yield request;
            }
        };
    }

    private void perform(Batch batch, long planNumber, int divisor, boolean locked) {
        long number = state.next();
        long stamp = (planNumber * PRIME + number) * PRIME;
        if (recorder.isOn()) {
            performRecorded(
                    batch,
                    stamp,
                    divisor,
                    locked
                            ? described.computeIfAbsent(batch, each -> describe(each, true))
                            : describe(batch, false));
        } else {
            dispatcher.run(batch, stamp, divisor);
        }
        state.complete(number);
    }

    private void performRecorded(Batch batch, long stamp, int divisor, Collective collective) {
        recorder.began(collective);
        activities.open(collective);
        try {
            dispatcher.run(batch, stamp, divisor);
        } finally {
            activities.close();
            recorder.ended(collective);
        }
    }

    private Collective describe(Batch batch, boolean locked) {
        Request first = batch.first();
        return new Collective(
                first.kind().name(),
                processSet,
                batch.requests().stream().map(Request::name).toList(),
                first.dataType(),
                batch.requests().stream().map(Request::shape).toList(),
                batch.byteSize(),
                locked);
    }

    private void fail(String name, String reason) {
        Entry<?> entry = queue.find(name);
        countDecision();
        if (recorder.isOn()) {
            recorder.failed(processSet, name, reason);
        }
        if (entry != null) {
            queue.release(entry);
            entry.fail(new MismatchException(reason));
        }
    }

    private void joined(int lastRank) {
        countDecision();
        joinTold = false;
        queue.joined(lastRank);
    }

    /// What all ranks hear is an operation too, though nothing runs: a rank that leaves upon it
    /// says that it has completed it, so that others, who may hear of the departure first, still
    /// wait for the message.
    private void countDecision() {
        state.complete(state.next());
    }

    private void lock(ToRanks.Lock lock) {
        Plan locked =
                lock.buckets().isEmpty()
                        ? plans.get(lock.plan())
                        : new Plan(lock.plan(), lock.buckets());
        if (locked == null) {
            throw new IllegalStateException("plan " + lock.plan() + " is not known here");
        }
        plans.put(lock.plan(), locked);
        if (plans.size() > MAX_PLANS) {
            plans.remove(plans.keySet().iterator().next());
        }
        epoch++;
        mode = Mode.LOCKED;
        plan = locked;
        stopAfter = NEVER;
        stepBytes = 0;
        stepNanos = clock.nanoTime();
        extra = 0;
        queue.follow(locked, lock.start());
    }

    private void unlock(long completed) {
        if (mode == Mode.LOCKED) {
            stopAfter = completed;
            if (inPlan && state.completed() >= completed) {
                throw new AbandonedException();
            }
        }
    }

    private void unlocked(boolean reset) {
        epoch++;
        mode = Mode.NEGOTIATING;
        plan = null;
        described.clear();
        stopAfter = NEVER;
        joinTold = false;
        if (reset) {
            backend.reset();
            coordinator.accept(new FromRank.Ready());
        }
        queue.unfollow();
    }

    /// What this rank is doing, in words.
    @Override
    public String toString() {
        return switch (mode) {
            case NEGOTIATING -> "negotiating";
            case LOCKED -> "following " + plan;
            case STOPPING -> "leaving " + plan;
        };
    }
}
