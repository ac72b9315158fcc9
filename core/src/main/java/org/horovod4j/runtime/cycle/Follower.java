package org.horovod4j.runtime.cycle;

import org.horovod4j.MismatchException;
import org.horovod4j.log.Log;
import org.horovod4j.runtime.cache.RankCache;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.CoordinatorMessage;
import org.horovod4j.runtime.message.RankMessage;
import org.horovod4j.runtime.message.RankMessage.RequestRef;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.Clock;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/// Sends the requests of this rank to the coordinator and carries out its decisions. Every rank has
/// one. While a plan is locked, its [PlanFollower] runs the operations.
///
/// Used only by the thread that drives the cycle.
final class Follower {
    private static final Logger LOG = Log.of(Follower.class);

    /// Read once, so that an operation never asks.
    private final boolean traces = LOG.isLoggable(Level.TRACE);

    private final int processSet;
    private final int rank;
    private final TensorQueue queue;
    private final PlanFollower planFollower;
    private final BatchRunner batchRunner;
    private final CancellableBackend backend;
    private final Recorder recorder;
    private final Clock clock;
    private final Consumer<RankMessage> coordinator;
    private final RankCache cache = new RankCache();

    private boolean joinSent;
    private long epoch;
    private long decisionsSeen;
    private long cycleNanos;
    private long lastCycleNanos;

    /// @param coordinator receives the messages of this rank
    Follower(
            ProcessSetContext context,
            TensorQueue queue,
            PlanFollower planFollower,
            BatchRunner batchRunner,
            Consumer<RankMessage> coordinator) {
        this.processSet = context.processSet();
        this.rank = context.rank();
        this.queue = queue;
        this.planFollower = planFollower;
        this.batchRunner = batchRunner;
        this.backend = context.backend();
        this.recorder = context.recorder();
        this.clock = context.clock();
        this.coordinator = coordinator;
        this.cycleNanos = context.tuning().cycleTime().toNanos();
    }

    /// Does what this rank can do without a new decision of the coordinator: sends requests, or
    /// runs the next batch of a locked plan.
    ///
    /// @return whether there was something to do
    boolean advance() {
        return switch (planFollower.mode()) {
            case NEGOTIATING -> sendRequests();
            case LOCKED -> planFollower.advance();
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
        // Read before the entries: what was submitted before a join must be requested before it.
        TensorEntry<Integer> joinOrFailStep = queue.joinOrFailStep();
        List<TensorEntry<?>> entries = queue.drain();
        boolean requested = !entries.isEmpty();
        if (requested) {
            if (recorder.isOn()) {
                recorder.cycle();
            }
            sendRequests(entries);
        }
        if (!joinSent && joinOrFailStep != null) {
            joinSent = true;
            coordinator.accept(
                    joinOrFailStep.operation() instanceof Operation.FailStep(String reason)
                            ? new RankMessage.FailStep(epoch, reason)
                            : new RankMessage.Join(epoch));
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

    /// Carries out a decision of the coordinator.
    void handle(CoordinatorMessage decision) {
        decisionsSeen++;
        switch (decision) {
            case CoordinatorMessage.Run run -> run(run);
            case CoordinatorMessage.Fail fail -> fail(fail);
            case CoordinatorMessage.Joined(int lastRank) -> joined(lastRank);
            case CoordinatorMessage.StepEnded(int lastRank) -> stepEnded(lastRank);
            case CoordinatorMessage.Evict(List<Integer> slots) -> {
                if (traces) {
                    LOG.log(Level.TRACE, "The cache drops the requests {0}", slots);
                }
                slots.forEach(cache::remove);
            }
            case CoordinatorMessage.Lock lock -> lock(lock);
            case CoordinatorMessage.Unlock(long completed) -> planFollower.unlock(completed);
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
            } else if (!queue.hasJoined()) {
                throw new IllegalStateException(
                        requests.get(i) + " is to run, but this rank has not requested it");
            }
        }
        if (traces) {
            LOG.log(
                    Level.TRACE,
                    "Process set {0} runs {1}",
                    processSet,
                    BatchRunner.describe(batch));
        }
        if (recorder.isOn()) {
            requests.forEach(request -> recorder.negotiationEnded(processSet, request.name()));
        }
        batchRunner.runNegotiated(batch, run.divisor());
        TensorEntry.signalEnds(queue.end(batch));
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

    private void fail(CoordinatorMessage.Fail fail) {
        String name = fail.name();
        String reason = fail.reason();
        TensorEntry<?> tensorEntry = fail.ranks().contains(rank) ? queue.find(name) : null;
        batchRunner.countDecision();
        if (recorder.isOn()) {
            recorder.negotiationFailed(processSet, name, reason);
        }
        if (tensorEntry != null) {
            queue.release(tensorEntry);
            tensorEntry.fail(new MismatchException(reason));
        }
    }

    private void joined(int lastRank) {
        batchRunner.countDecision();
        joinSent = false;
        queue.joined(lastRank);
    }

    private void stepEnded(int lastRank) {
        batchRunner.countDecision();
        if (queue.stepEnded(lastRank)) {
            joinSent = false;
        }
    }

    private void lock(CoordinatorMessage.Lock lock) {
        epoch++;
        planFollower.lock(lock);
    }

    private void unlocked(boolean reset) {
        epoch++;
        planFollower.unlocked();
        joinSent = false;
        if (reset) {
            backend.reset();
            coordinator.accept(new RankMessage.ResetDone());
        }
        queue.unlockPlan();
    }
}
