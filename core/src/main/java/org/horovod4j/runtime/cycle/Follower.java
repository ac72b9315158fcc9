package org.horovod4j.runtime.cycle;

import org.horovod4j.HorovodException;
import org.horovod4j.MismatchException;
import org.horovod4j.log.Log;
import org.horovod4j.runtime.cache.RankCache;
import org.horovod4j.runtime.controller.Coordinator;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.cycle.CycleAgent.StepListener;
import org.horovod4j.runtime.cycle.TensorQueue.Deviation;
import org.horovod4j.runtime.dispatch.Dispatcher;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.fusion.Plan;
import org.horovod4j.runtime.message.CoordinatorMessage;
import org.horovod4j.runtime.message.RankMessage;
import org.horovod4j.runtime.message.RankMessage.RequestRef;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.runtime.timeline.Collective;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.IdleStrategy;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Supplier;

/// Sends the requests of this rank to the coordinator and carries out its decisions. Every rank has
/// one.
///
/// Used only by the thread that drives the cycle.
final class Follower {
    /// The number of plans that are kept. The coordinator too drops the plan that was locked least
    /// recently, so it never locks a plan that a follower has dropped.
    private static final int MAX_PLANS = Coordinator.MAX_PLANS;

    /// Spreads plan and batch numbers over all bits of a stamp. The fraction of the golden ratio in
    /// 64 bits, as in Fibonacci hashing.
    private static final long GOLDEN_RATIO_64 = 0x9e3779b97f4a7c15L;

    private static final long NEVER = Long.MAX_VALUE;

    private static final Logger LOG = Log.of(Follower.class);

    /// Read once, so that an operation never asks.
    private final boolean traces = LOG.isLoggable(Level.TRACE);

    private final int processSet;
    private final int rank;
    private final int size;
    private final TensorQueue queue;
    private final ProcessSetState state;
    private final Backend backend;
    private final Dispatcher dispatcher;
    private final Recorder recorder;
    private final ActivityLog activities;
    private final Clock clock;
    private final IdleStrategy idleStrategy;
    private final Consumer<RankMessage> coordinator;
    private final StepListener stepListener;
    private final RankCache cache = new RankCache();
    private final Map<Long, Plan> plans = new LinkedHashMap<>(16, 0.75f, true);
    private final CompletedEntries completedEntries = new CompletedEntries();

    /// What the recorder gets for each batch of the plan. Cached, because batches run in every
    /// step.
    private final IdentityHashMap<Batch, Collective> collectives = new IdentityHashMap<>();

    /// Volatile for [#toString], which other threads call.
    private volatile Position position = Position.NEGOTIATING;

    private boolean joinSent;
    private boolean inPlan;

    /// The number of batches that have run since the program deviated from the plan.
    private int batchesAfterDeviation;

    /// This rank leaves the plan after this number of completed batches.
    private long stopAfter = NEVER;

    // How often a plan was locked, and why it was left.
    private long planLocks;
    private long planChanges;
    private long longWaits;
    private long leftByOthers;

    private long epoch;
    private long decisionsSeen;
    private long cycleNanos;
    private long lastCycleNanos;
    private long stepBytes;
    private long stepNanos;

    enum Mode {
        /// Operations are requested, and run when the coordinator decides so.
        NEGOTIATING,
        /// Operations run in the order of the plan, as soon as their entries are submitted.
        LOCKED,
        /// This rank has left the plan. Nothing runs until all ranks have left it.
        STOPPING
    }

    /// What this rank follows.
    ///
    /// @param plan null while it negotiates
    private record Position(Mode mode, @Nullable Plan plan) {
        static final Position NEGOTIATING = new Position(Mode.NEGOTIATING, null);

        @Override
        public String toString() {
            return switch (mode) {
                case NEGOTIATING -> "negotiating";
                case LOCKED -> "following " + plan;
                case STOPPING -> "leaving " + plan;
            };
        }
    }

    /// Another rank has left the plan, so the batch that this rank waits in cannot complete. Users
    /// never see this exception: the ranks negotiate the operations of the batch again.
    private static final class BatchCancelledException extends HorovodException {
        private static final long serialVersionUID = 1L;

        BatchCancelledException() {
            super("another rank left the plan before this batch");
        }
    }

    /// @param coordinator receives the messages of this rank
    Follower(
            ProcessSetContext context,
            TensorQueue queue,
            Consumer<RankMessage> coordinator,
            StepListener stepListener) {
        this.processSet = context.processSet();
        this.rank = context.rank();
        this.size = context.size();
        this.queue = queue;
        this.state = context.state();
        this.backend = context.backend();
        this.dispatcher = context.dispatcher();
        this.recorder = context.recorder();
        this.activities = context.activities();
        this.clock = context.clock();
        this.idleStrategy = context.idleStrategy();
        this.coordinator = coordinator;
        this.stepListener = stepListener;
        this.cycleNanos = context.tuning().cycleTime().toNanos();
    }

    Mode mode() {
        return position.mode;
    }

    /// Whether a batch of a plan is running. It can still be cancelled while it waits for other
    /// ranks to start it.
    boolean isInPlan() {
        return inPlan;
    }

    /// Does what this rank can do without a new decision of the coordinator: sends requests, or
    /// runs the next batch of a locked plan.
    ///
    /// @return whether there was something to do
    boolean advance() {
        return switch (mode()) {
            case NEGOTIATING -> sendRequests();
            case LOCKED -> advancePlan();
            case STOPPING -> false;
        };
    }

    /// Requests the submitted operations, at most once per cycle time.
    private boolean sendRequests() {
        if (cycleNanos > 0) {
            long now = clock.nanoTime();
            if (now - lastCycleNanos < cycleNanos) {
                return false;
            }
            lastCycleNanos = now;
        }
        List<TensorEntry<?>> entries = queue.drain();
        boolean requested = !entries.isEmpty();
        if (requested) {
            if (recorder.isOn()) {
                recorder.cycle();
            }
            sendRequests(entries);
        }
        if (!joinSent && queue.joining() != null) {
            joinSent = true;
            coordinator.accept(new RankMessage.Join(epoch));
            return true;
        }
        return requested;
    }

    private void sendRequests(List<TensorEntry<?>> entries) {
        List<RequestRef> requests = new ArrayList<>();
        long segment = entries.getFirst().segment();
        for (TensorEntry<?> tensorEntry : entries) {
            if (tensorEntry.segment() != segment) {
                coordinator.accept(new RankMessage.Submit(epoch, decisionsSeen, segment, requests));
                requests.clear();
                segment = tensorEntry.segment();
            }
            int slot = cache.slot(tensorEntry.request());
            requests.add(
                    slot >= 0
                            ? new RankMessage.CachedRequest(slot)
                            : new RankMessage.NewRequest(tensorEntry.request()));
        }
        coordinator.accept(new RankMessage.Submit(epoch, decisionsSeen, segment, requests));
    }

    /// Runs the next batch of the plan, or leaves the plan if the program has deviated from it.
    /// Before that it runs the batches that are already filled, at most one step. So the point
    /// where this rank leaves the plan depends on the program and not on timing.
    private boolean advancePlan() {
        if (state.completed() >= stopAfter) {
            leftByOthers++;
            stop(new RankMessage.Stopped(false), Follower::othersLeft);
            return true;
        }
        Batch batch = queue.ready();
        Deviation deviation = queue.deviation();
        if (batch != null
                && (deviation == Deviation.NONE || batchesAfterDeviation++ < plan().size())) {
            runPlanned(batch);
            return true;
        }
        if (deviation == Deviation.STUCK) {
            longWaits++;
        } else if (deviation != Deviation.NONE) {
            planChanges++;
        }
        if (deviation != Deviation.NONE) {
            stop(
                    new RankMessage.Deviate(state.completed(), deviation == Deviation.STUCK),
                    queue::deviationCause);
            return true;
        }
        return false;
    }

    private void runPlanned(Batch batch) {
        try {
            inPlan = true;
            perform(batch, plan().number(), size, true);
        } catch (BatchCancelledException _) {
            leftByOthers++;
            stop(new RankMessage.Stopped(true), Follower::othersLeft);
            return;
        } finally {
            inPlan = false;
        }
        stepBytes += batch.byteSize();
        boolean stepEnds = queue.advance(completedEntries);
        completedEntries.completeAll();
        if (stepEnds) {
            long now = clock.nanoTime();
            if (stepListener.onStep(stepBytes, now - stepNanos)) {
                queue.deviate(Deviation.REQUESTED);
            }
            stepBytes = 0;
            stepNanos = now;
        }
    }

    private Plan plan() {
        return Objects.requireNonNull(position.plan, "a plan is locked");
    }

    private static String othersLeft() {
        return "another rank left it";
    }

    /// @param reason for the log and the flight recorder
    private void stop(RankMessage message, Supplier<String> reason) {
        LOG.log(
                Level.DEBUG,
                () ->
                        "Process set %d leaves %s after batch %d: %s"
                                .formatted(processSet, plan(), state.completed(), reason.get()));
        if (recorder.isOn()) {
            recorder.planLeft(processSet, reason.get());
        }
        recordWaits();
        position = new Position(Mode.STOPPING, plan());
        coordinator.accept(message);
    }

    /// Tells the recorder how waits have ended so far.
    void recordWaits() {
        if (recorder.isOn()) {
            IdleStrategy.Waits waits = idleStrategy.waits();
            recorder.waits(processSet, waits.spinning(), waits.yielding(), waits.sleeping());
        }
    }

    /// Carries out a decision of the coordinator.
    void handle(CoordinatorMessage decision) {
        decisionsSeen++;
        switch (decision) {
            case CoordinatorMessage.Run run -> run(run);
            case CoordinatorMessage.Fail fail -> fail(fail);
            case CoordinatorMessage.Joined(int lastRank) -> joined(lastRank);
            case CoordinatorMessage.Evict(List<Integer> slots) -> {
                if (traces) {
                    LOG.log(Level.TRACE, "The cache drops the requests {0}", slots);
                }
                slots.forEach(cache::remove);
            }
            case CoordinatorMessage.Lock lock -> lock(lock);
            case CoordinatorMessage.Unlock(long completed) -> unlock(completed);
            case CoordinatorMessage.Unlocked(boolean reset) -> unlocked(reset);
            case CoordinatorMessage.Tune(Tuning tuning) -> {
                LOG.log(Level.DEBUG, "Process set {0} uses {1}", processSet, tuning);
                cycleNanos = tuning.cycleTime().toNanos();
                backend.tune(tuning);
            }
        }
    }

    private void run(CoordinatorMessage.Run run) {
        List<Request> requests = run.operations().stream().map(this::resolve).toList();
        Batch batch = new Batch(requests);
        for (int i = 0; i < batch.size(); i++) {
            TensorEntry<?> tensorEntry = queue.find(requests.get(i).name());
            if (tensorEntry != null) {
                batch.put(i, tensorEntry);
            } else if (queue.joining() == null) {
                throw new IllegalStateException(
                        requests.get(i) + " is to run, but this rank has not requested it");
            }
        }
        if (traces) {
            LOG.log(Level.TRACE, "Process set {0} runs {1}", processSet, describe(batch));
        }
        if (recorder.isOn()) {
            requests.forEach(request -> recorder.negotiationEnded(processSet, request.name()));
        }
        perform(batch, 0, run.divisor(), false);
        queue.release(batch, completedEntries);
        completedEntries.completeAll();
    }

    /// A batch for the log: its operation, its bytes and what is fused in it.
    private static String describe(Batch batch) {
        return "%s of %d bytes, fused from %s"
                .formatted(
                        batch.first().collectiveKind(),
                        batch.byteSize(),
                        batch.requests().stream().map(Request::name).toList());
    }

    private Request resolve(CoordinatorMessage.OperationRef operationRef) {
        return switch (operationRef) {
            case CoordinatorMessage.Cached(int slot) -> {
                Request request = cache.request(slot);
                if (request == null) {
                    throw new IllegalStateException("cache slot " + slot + " is not known here");
                }
                yield request;
            }
            case CoordinatorMessage.Uncached(Request request, int slot) -> {
                if (slot >= 0) {
                    cache.put(slot, request);
                }
                yield request;
            }
        };
    }

    private void perform(Batch batch, long planNumber, int divisor, boolean locked) {
        long number = state.nextBatch();
        long stamp = (planNumber * GOLDEN_RATIO_64 + number) * GOLDEN_RATIO_64;
        if (recorder.isOn()) {
            performRecorded(
                    batch,
                    stamp,
                    divisor,
                    locked
                            ? collectives.computeIfAbsent(batch, each -> describe(each, true))
                            : describe(batch, false));
        } else {
            dispatcher.run(batch, stamp, divisor);
        }
        state.complete(number);
    }

    private void performRecorded(Batch batch, long stamp, int divisor, Collective collective) {
        recorder.started(collective);
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
                first.collectiveKind().name(),
                processSet,
                batch.requests().stream().map(Request::name).toList(),
                first.dataType(),
                batch.requests().stream().map(Request::shape).toList(),
                batch.byteSize(),
                locked);
    }

    private void fail(CoordinatorMessage.Fail fail) {
        String name = fail.name();
        String reason = fail.reason();
        TensorEntry<?> tensorEntry = fail.ranks().contains(rank) ? queue.find(name) : null;
        countDecision();
        if (recorder.isOn()) {
            recorder.negotiationFailed(processSet, name, reason);
        }
        if (tensorEntry != null) {
            queue.release(tensorEntry);
            tensorEntry.fail(new MismatchException(reason));
        }
    }

    private void joined(int lastRank) {
        countDecision();
        joinSent = false;
        queue.joined(lastRank);
    }

    /// Counts a decision that runs nothing as a completed batch. A rank that leaves the job reports
    /// how many batches it has completed. So the other ranks still wait for this decision if they
    /// see the departure before they receive it.
    private void countDecision() {
        state.complete(state.nextBatch());
    }

    private void lock(CoordinatorMessage.Lock lock) {
        Plan locked =
                lock.batches().isEmpty()
                        ? plans.get(lock.plan())
                        : new Plan(lock.plan(), lock.batches());
        if (locked == null) {
            throw new IllegalStateException("plan " + lock.plan() + " is not known here");
        }
        plans.put(lock.plan(), locked);
        if (plans.size() > MAX_PLANS) {
            plans.remove(plans.keySet().iterator().next());
        }
        planLocks++;
        epoch++;
        position = new Position(Mode.LOCKED, locked);
        stopAfter = NEVER;
        stepBytes = 0;
        stepNanos = clock.nanoTime();
        batchesAfterDeviation = 0;
        queue.lockPlan(locked, lock.start());
        LOG.log(Level.DEBUG, "Process set {0} follows {1}", processSet, locked);
        if (traces) {
            locked.batches().forEach(batch -> LOG.log(Level.TRACE, "  {0}", describe(batch)));
        }
        if (recorder.isOn()) {
            recorder.planLocked(processSet, locked.number(), locked.size());
        }
    }

    private void unlock(long completed) {
        if (mode() == Mode.LOCKED) {
            stopAfter = completed;
            if (inPlan && state.completed() >= completed) {
                throw new BatchCancelledException();
            }
        }
    }

    private void unlocked(boolean reset) {
        epoch++;
        position = Position.NEGOTIATING;
        collectives.clear();
        stopAfter = NEVER;
        joinSent = false;
        if (reset) {
            backend.reset();
            coordinator.accept(new RankMessage.ResetDone());
        }
        queue.unlockPlan();
    }

    /// How often plans were locked, and why they were left. Another thread may see values that are
    /// slightly old.
    String statistics() {
        return "plans locked %d times, left %d times by this program, %d times by a long wait, %d times by other ranks"
                .formatted(planLocks, planChanges, longWaits, leftByOthers);
    }

    /// What this rank is doing, for state reports.
    @Override
    public String toString() {
        return position.toString();
    }
}
