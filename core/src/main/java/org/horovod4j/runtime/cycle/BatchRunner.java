package org.horovod4j.runtime.cycle;

import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.dispatch.Dispatcher;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.runtime.timeline.Collective;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.transport.IdleStrategy;
import org.horovod4j.transport.OutOfLineCall;

import java.util.IdentityHashMap;

/// Runs batches one after the other: numbers them, and reports them and their waits to the recorder.
///
/// Used only by the thread that drives the cycle.
final class BatchRunner {
    /// Spreads plan and batch numbers over all bits of a stamp. The fraction of the golden ratio in
    /// 64 bits, as in Fibonacci hashing.
    private static final long GOLDEN_RATIO_64 = 0x9e3779b97f4a7c15L;

    private final int processSet;
    private final int size;
    private final ProcessSetState state;
    private final Dispatcher dispatcher;
    private final Recorder recorder;
    private final ActivityLog activities;
    private final IdleStrategy idleStrategy;
    private final OutOfLineCall<Batch> dispatch = new OutOfLineCall<>(this::dispatch);

    // Arguments of dispatch, which takes only the batch.
    private long stamp;
    private int divisor;

    /// What the recorder gets for each batch of the plan. Cached, because batches run in every
    /// step.
    private final IdentityHashMap<Batch, Collective> planned = new IdentityHashMap<>();

    BatchRunner(ProcessSetContext context) {
        this.processSet = context.processSet();
        this.size = context.size();
        this.state = context.state();
        this.dispatcher = context.dispatcher();
        this.recorder = context.recorder();
        this.activities = context.activities();
        this.idleStrategy = context.idleStrategy();
    }

    /// Runs a batch that the coordinator has decided on.
    ///
    /// @param divisor of an average
    void runNegotiated(Batch batch, int divisor) {
        long number = state.nextBatch();
        if (recorder.isOn()) {
            runRecorded(batch, stamp(0, number), divisor, collective(batch, false));
        } else {
            run(batch, stamp(0, number), divisor);
        }
        state.complete(number);
    }

    /// Runs a batch of a locked plan.
    void runPlanned(Batch batch, long planNumber) {
        long number = state.nextBatch();
        if (recorder.isOn()) {
            Collective known = planned.computeIfAbsent(batch, each -> collective(each, true));
            runRecorded(batch, stamp(planNumber, number), size, known);
        } else {
            run(batch, stamp(planNumber, number), size);
        }
        state.completeInPlan(number);
    }

    private void run(Batch batch, long batchStamp, int batchDivisor) {
        stamp = batchStamp;
        divisor = batchDivisor;
        dispatch.call(batch);
    }

    private void dispatch(Batch batch) {
        dispatcher.run(batch, stamp, divisor);
    }

    private static long stamp(long planNumber, long batchNumber) {
        return (planNumber * GOLDEN_RATIO_64 + batchNumber) * GOLDEN_RATIO_64;
    }

    private void runRecorded(
            Batch batch, long batchStamp, int batchDivisor, Collective collective) {
        recorder.started(collective);
        activities.open(collective);
        try {
            run(batch, batchStamp, batchDivisor);
        } finally {
            activities.close();
            recorder.ended(collective);
        }
    }

    private Collective collective(Batch batch, boolean locked) {
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

    /// Forgets what it keeps for the batches of a plan.
    void planUnlocked() {
        planned.clear();
    }

    /// Counts a decision that runs nothing as a completed batch. A rank that leaves the job reports
    /// how many batches it has completed. So the other ranks still wait for this decision if they
    /// see the departure before they receive it.
    void countDecision() {
        state.complete(state.nextBatch());
    }

    /// Tells the recorder how waits have ended so far.
    void recordWaits() {
        if (recorder.isOn()) {
            IdleStrategy.Waits waits = idleStrategy.waits();
            recorder.waits(processSet, waits.spinning(), waits.yielding(), waits.sleeping());
        }
    }

    /// A batch for the log: its operation, its bytes and what is fused in it.
    static String describe(Batch batch) {
        return "%s of %d bytes, fused from %s"
                .formatted(
                        batch.first().collectiveKind(),
                        batch.byteSize(),
                        batch.requests().stream().map(Request::name).toList());
    }
}
