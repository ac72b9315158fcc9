package org.horovod4j.runtime.cycle;

import static org.horovod4j.text.MessageText.count;

import org.horovod4j.HorovodException;
import org.horovod4j.log.Log;
import org.horovod4j.runtime.controller.Coordinator;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.cycle.CycleAgent.StepListener;
import org.horovod4j.runtime.cycle.TensorQueue.Deviation;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.fusion.Plan;
import org.horovod4j.runtime.message.CoordinatorMessage;
import org.horovod4j.runtime.message.RankMessage;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.transport.Clock;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Supplier;

/// Follows locked plans: runs their batches without messages, and leaves a plan when the program
/// deviates from it or another rank has left it.
///
/// Used only by the thread that drives the cycle.
final class PlanFollower {
    /// The number of plans that are kept. The coordinator too drops the plan that was locked least
    /// recently, so it never locks a plan that a follower has dropped.
    private static final int MAX_PLANS = Coordinator.MAX_PLANS;

    private static final long NEVER = Long.MAX_VALUE;

    private static final Logger LOG = Log.of(PlanFollower.class);

    private final int processSet;
    private final TensorQueue queue;
    private final ProcessSetState state;
    private final Recorder recorder;
    private final Clock clock;
    private final BatchRunner batchRunner;
    private final Consumer<RankMessage> coordinator;
    private final @Nullable StepListener stepListener;
    private final Map<Long, Plan> plans = new LinkedHashMap<>(16, 0.75f, true);

    /// Volatile for [#toString], which other threads call.
    private volatile Position position = Position.NEGOTIATING;

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
    PlanFollower(
            ProcessSetContext context,
            TensorQueue queue,
            BatchRunner batchRunner,
            Consumer<RankMessage> coordinator,
            @Nullable StepListener stepListener) {
        this.processSet = context.processSet();
        this.queue = queue;
        this.state = context.state();
        this.recorder = context.recorder();
        this.clock = context.clock();
        this.batchRunner = batchRunner;
        this.coordinator = coordinator;
        this.stepListener = stepListener;
    }

    Mode mode() {
        return position.mode;
    }

    /// Whether a batch of a plan is running. It can still be cancelled while it waits for other
    /// ranks to start it.
    boolean isInPlan() {
        return inPlan;
    }

    /// Runs the next batch of the plan, or leaves the plan if the program has deviated from it.
    /// Before that it runs the batches that are already filled, at most one step. So the point
    /// where this rank leaves the plan depends on the program and not on timing.
    ///
    /// @return whether there was something to do
    boolean advance() {
        if (state.completed() >= stopAfter) {
            leftByOthers++;
            stop(new RankMessage.Stopped(false), PlanFollower::othersLeft);
            return true;
        }
        // Read before the batch: a batch that was filled before the deviation must run.
        Deviation deviation = queue.deviation();
        Batch batch = queue.ready();
        if (batch != null
                && (deviation == Deviation.NONE || batchesAfterDeviation++ < plan().size())) {
            run(batch);
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

    private void run(Batch batch) {
        try {
            inPlan = true;
            batchRunner.runPlanned(batch, plan().number());
        } catch (BatchCancelledException _) {
            leftByOthers++;
            stop(new RankMessage.Stopped(true), PlanFollower::othersLeft);
            return;
        } finally {
            inPlan = false;
        }
        TensorEntry.signalEnds(queue.advance());
        if (stepListener != null) {
            stepBytes += batch.byteSize();
            if (plan().isAtStart()) {
                endStep(stepListener);
            }
        }
    }

    private void endStep(StepListener listener) {
        long now = clock.nanoTime();
        if (listener.onStep(stepBytes, now - stepNanos)) {
            queue.deviate(Deviation.REQUESTED);
        }
        stepBytes = 0;
        stepNanos = now;
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
        batchRunner.recordWaits();
        position = new Position(Mode.STOPPING, plan());
        coordinator.accept(message);
    }

    /// All ranks follow a plan from now on.
    void lock(CoordinatorMessage.Lock lock) {
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
        position = new Position(Mode.LOCKED, locked);
        stopAfter = NEVER;
        stepBytes = 0;
        stepNanos = clock.nanoTime();
        batchesAfterDeviation = 0;
        queue.lockPlan(locked, lock.start());
        LOG.log(Level.DEBUG, "Process set {0} follows {1}", processSet, locked);
        if (LOG.isLoggable(Level.TRACE)) {
            locked.batches()
                    .forEach(batch -> LOG.log(Level.TRACE, "  {0}", BatchRunner.describe(batch)));
        }
        if (recorder.isOn()) {
            recorder.planLocked(processSet, locked.number(), locked.size());
        }
    }

    /// A rank has left the plan. All ranks stop after the same batch.
    ///
    /// @param completed the number of batches that all ranks complete
    void unlock(long completed) {
        if (mode() == Mode.LOCKED) {
            stopAfter = completed;
            if (inPlan && state.completed() >= completed) {
                throw new BatchCancelledException();
            }
        }
    }

    /// All ranks have left the plan.
    void unlocked() {
        position = Position.NEGOTIATING;
        batchRunner.planUnlocked();
        stopAfter = NEVER;
    }

    /// How often plans were locked, and why they were left. Another thread may see values that are
    /// slightly old.
    String statistics() {
        return "plans locked %s, left %s by this program, %s by a long wait, %s by other ranks"
                .formatted(
                        count(planLocks, "time"),
                        count(planChanges, "time"),
                        count(longWaits, "time"),
                        count(leftByOthers, "time"));
    }

    /// What this rank is doing, for state reports.
    @Override
    public String toString() {
        return position.toString();
    }
}
