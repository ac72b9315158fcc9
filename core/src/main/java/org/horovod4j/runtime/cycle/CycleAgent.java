package org.horovod4j.runtime.cycle;

import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.log.Log;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.cycle.TensorQueue.Deviation;
import org.horovod4j.runtime.dispatch.DeviceDispatcher;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.transport.CachedClock;
import org.horovod4j.transport.IdleStrategy;
import org.horovod4j.transport.LinkParker;
import org.horovod4j.transport.OutOfLineCall;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/// Runs the submitted operations of one process set.
///
/// To *drive* the cycle is to call `doWork` again and again: it sends requests, runs batches and
/// exchanges messages. A thread that waits for an operation drives while it waits: passing the work
/// to another thread and back would cost more than a small operation takes. While the program
/// computes, thread `hvd-cycle` drives ([CycleThread]). One thread drives at a time, and only that
/// thread uses the [Follower] and the [ControlChannel].
public final class CycleAgent implements TensorEntry.ProgressEngine {
    /// If the program waits this long for an operation that a plan holds back, this rank leaves the
    /// plan.
    private static final long STUCK_TIMEOUT_NANOS = 10_000_000;

    /// How long a thread waits for the driving thread before it checks again.
    private static final long DRIVER_WAIT_NANOS = 1_000_000;

    private static final Logger LOG = Log.of(CycleAgent.class);

    private final TensorQueue queue;
    private final WaitPredictor waitPredictor;
    private final PlanFollower planFollower;
    private final BatchRunner batchRunner;
    private final Follower follower;
    private final ControlChannel controlChannel;
    private final ProcessSetState state;
    private final IdleStrategy idleStrategy;
    private final int processSet;
    private final Recorder recorder;
    private final DeviceDispatcher deviceDispatcher;
    private final CachedClock clock;
    private final Function<Throwable, HorovodException> explain;
    private final CycleThread cycleThread;
    private final AtomicInteger completedJoins = new AtomicInteger();
    private final OutOfLineCall<TensorEntry<?>> driveUntilEnd =
            new OutOfLineCall<>(this::driveUntilEnd);
    private volatile @Nullable HorovodException closed;

    /// Whether the driving thread waits for work, and not inside a batch.
    private boolean betweenBatches;

    /// A thread of the program that waits while another thread drives. Thread `hvd-cycle` stops
    /// driving for it after the current batch. Otherwise the waiting thread would be woken after
    /// each batch, only to wait for the next.
    private volatile @Nullable Thread waiter;

    /// The last wait that the plan blocked. It may be over by now.
    private volatile @Nullable BlockedWait blockedWait;

    /// Creates an agent. Its thread starts when it is first needed.
    ///
    /// @param threadFactory creates thread `hvd-cycle`
    /// @param stepListener receives each step of a locked plan; null if there is none
    /// @param explain reports a failure to the other ranks, and returns the exception for this
    ///     program
    public CycleAgent(
            ThreadFactory threadFactory,
            ProcessSetContext context,
            @Nullable StepListener stepListener,
            Function<Throwable, HorovodException> explain) {
        this.state = context.state();
        this.processSet = context.processSet();
        this.recorder = context.recorder();
        this.deviceDispatcher = context.deviceDispatcher();
        this.clock = context.clock();
        this.queue = new TensorQueue(clock);
        this.waitPredictor = new WaitPredictor(clock);
        this.idleStrategy = context.idleStrategy();
        this.explain = explain;
        this.controlChannel =
                new ControlChannel(
                        new ControlLinks(context.controlLinks(), context.rank(), context.size()),
                        context.coordinator(),
                        state,
                        idleStrategy,
                        clock,
                        decision -> this.follower().handle(decision));
        this.batchRunner = new BatchRunner(context);
        this.planFollower =
                new PlanFollower(context, queue, batchRunner, controlChannel::send, stepListener);
        this.follower =
                new Follower(context, queue, planFollower, batchRunner, controlChannel::send);
        this.cycleThread = new CycleThread(threadFactory, this, queue, waitPredictor);
        state.setWaitHook(this::receiveInPlan);
        idleStrategy.addLinkUser(this::awaitMessages);
    }

    private Follower follower() {
        return follower;
    }

    /// A wait of the program for an operation that the plan holds back.
    ///
    /// @param sinceNanos when the agent first saw the wait
    /// @param completed the number of completed batches at that time; if there are more now, a new
    ///     wait has begun
    private record BlockedWait(long sinceNanos, long completed) {}

    /// Receives each step of a locked plan, on the driving thread.
    @FunctionalInterface
    public interface StepListener {
        /// Reports the bytes and the duration of a step.
        ///
        /// @return whether this rank should leave the plan
        boolean onStep(long bytes, long nanos);
    }

    /// Submits an operation and returns at once.
    public <T> Handle<T> submit(Request request, Operation<T> operation) {
        TensorEntry<T> tensorEntry = newEntry(request, operation);
        try {
            submitted(queue.submit(tensorEntry));
        } catch (RuntimeException e) {
            tensorEntry.releaseReadyEvent();
            throw recordRejection(request, e);
        }
        return tensorEntry;
    }

    /// Submits an operation and returns its result.
    public <T> T perform(Request request, Operation<T> operation) {
        TensorEntry<T> tensorEntry = newEntry(request, operation);
        waitPredictor.onWait();
        boolean drives;
        try {
            drives = queue.submitAndTryDrive(tensorEntry);
        } catch (RuntimeException e) {
            tensorEntry.releaseReadyEvent();
            throw recordRejection(request, e);
        }
        if (drives) {
            driveUntilEnd.call(tensorEntry);
        }
        return tensorEntry.join();
    }

    /// Submits a group of operations, all or none.
    public <T> List<TensorEntry<T>> submitAll(
            List<Request> requests, List<? extends Operation<T>> operations) {
        List<TensorEntry<T>> entries = new ArrayList<>(requests.size());
        try {
            for (int i = 0; i < requests.size(); i++) {
                entries.add(newEntry(requests.get(i), operations.get(i)));
            }
            submitted(!entries.isEmpty() && queue.submit(entries));
        } catch (RuntimeException e) {
            entries.forEach(TensorEntry::releaseReadyEvent);
            requests.forEach(request -> recordRejection(request, e));
            throw e;
        }
        return entries;
    }

    /// @param work whether there is work now; false if a batch of the plan still waits for other
    ///     entries
    private void submitted(boolean work) {
        cycleThread.wakeIf(work && !queue.isDriven() && !isAwaited());
    }

    private boolean isAwaited() {
        Batch batch = queue.ready();
        return batch != null && waitPredictor.expectsWait(batch);
    }

    private <T> TensorEntry<T> newEntry(Request request, Operation<T> operation) {
        DeviceEvent ready =
                request.device().isHost()
                        ? null
                        : deviceDispatcher.recordReadyEvent(request, operation);
        if (recorder.isOn()) {
            recorder.submitted(processSet, request.name(), request.collectiveKind().name());
        }
        TensorEntry<T> tensorEntry = new TensorEntry<>(request, operation, this);
        if (ready != null) {
            tensorEntry.setReadyEvent(ready);
        }
        return tensorEntry;
    }

    private RuntimeException recordRejection(Request request, RuntimeException reason) {
        if (recorder.isOn()) {
            recorder.negotiationFailed(
                    processSet, request.name(), String.valueOf(reason.getMessage()));
        }
        return reason;
    }

    /// Joins: takes part in the operations of the others without data, until all ranks have joined.
    ///
    /// @return the last rank that joined, as a rank of the process set
    public int join() {
        TensorEntry<Integer> last = new TensorEntry<>(Request.join(), new Operation.Join(), this);
        queue.join(last);
        int rank = last.join();
        completedJoins.incrementAndGet();
        return rank;
    }

    /// Ends a step that has failed on this rank, and waits until all ranks have ended theirs.
    public void failStep(String reason) {
        TensorEntry<Integer> last =
                new TensorEntry<>(Request.failStep(), new Operation.FailStep(reason), this);
        queue.join(last);
        int _ = last.join();
    }

    /// How many joins of this rank are complete.
    public int completedJoins() {
        return completedJoins.get();
    }

    /// The entries in flight.
    public List<TensorEntry<?>> pending() {
        return queue.pending();
    }

    /// The pending join of this rank, or its wait for the end of a failed step, or null.
    public @Nullable TensorEntry<Integer> joinOrFailStep() {
        return queue.joinOrFailStep();
    }

    @Override
    public void completionObserved() {
        queue.completionObserved();
    }

    @Override
    public void passLock() {
        queue.passLock();
    }

    /// A program may poll instead of waiting, so the operation must make progress here too.
    @Override
    public void polled(TensorEntry<?> tensorEntry) {
        leavePlanIfStuck(tensorEntry);
        cycleThread.wakeIf(queue.hasWork());
    }

    @Override
    public void await(TensorEntry<?> tensorEntry) {
        waitPredictor.onWait();
        while (!tensorEntry.hasEnded()) {
            if (queue.tryDrive()) {
                driveUntilEnd.call(tensorEntry);
            } else {
                awaitDriver(tensorEntry);
                leavePlanIfStuck(tensorEntry);
            }
        }
    }

    /// Waits a short time while another thread drives, or until the entry is done.
    private void awaitDriver(TensorEntry<?> tensorEntry) {
        waiter = Thread.currentThread();
        try {
            if (queue.isDriven()) {
                idleStrategy.endBackground();
                tensorEntry.awaitEnd(DRIVER_WAIT_NANOS);
            }
        } finally {
            waiter = null;
        }
        if (tensorEntry.hasEnded() && !queue.isDriven() && !queue.isEmpty()) {
            // This thread returns and does not drive.
            cycleThread.wakeIf(queue.hasWork() && !isAwaited());
        }
    }

    /// Fails all entries in flight with `reason`, and all later submissions.
    public void close(HorovodException reason) {
        closed = reason;
        state.close(reason);
        cycleThread.end();
        boolean interrupted = false;
        while (!queue.tryDrive()) {
            interrupted |= Thread.interrupted(); // an interrupted thread does not park
            LockSupport.parkNanos(this, DRIVER_WAIT_NANOS); // the driver soon sees `closed`
        }
        LOG.log(Level.DEBUG, () -> "Process set %d: %s".formatted(processSet, statistics()));
        batchRunner.recordWaits();
        queue.close(reason);
        queue.stopDriving();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /// What this rank is doing, for state reports.
    public String describe() {
        return planFollower.toString();
    }

    /// How often plans were locked and left, and how waits have ended.
    public String statistics() {
        return planFollower.statistics() + "; " + idleStrategy.waits();
    }

    /// Drives until an entry has ended, then stops. The caller has become the driver.
    private void driveUntilEnd(TensorEntry<?> tensorEntry) {
        // Cleared while this thread drives: an interrupt would close files and sockets that the
        // batch uses, and would not end the batch on other ranks.
        boolean interrupted = Thread.interrupted();
        try {
            idleStrategy.setBackground(false);
            while (!tensorEntry.hasEnded()) {
                if (!drive()) {
                    leavePlanIfStuck(tensorEntry);
                }
            }
        } catch (RuntimeException | Error e) {
            queue.close(endReason(e));
        } finally {
            release();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /// Whether a thread drives.
    boolean isDriven() {
        return queue.isDriven();
    }

    boolean isClosed() {
        return closed != null;
    }

    /// Drives on thread `hvd-cycle` while there is work, unless another thread drives or waits to.
    ///
    /// @return whether it did
    boolean driveInBackground() {
        if (waiter != null || queue.isEmpty() || !queue.tryDrive()) {
            return false;
        }
        driveWhileBusy();
        return true;
    }

    /// Calls [#doWork] at least once, to read messages, and continues while there is work.
    private void driveWhileBusy() {
        idleStrategy.setBackground(true);
        try {
            if (closed == null) { // else the memory may be closed too
                boolean _ = doWork();
            }
            while (queue.hasWork() && closed == null && waiter == null) {
                boolean _ = drive();
            }
        } catch (RuntimeException | Error e) {
            queue.close(endReason(e));
        } finally {
            release();
        }
    }

    /// The reason why this agent ends: that of [#close], or the failure that `explain` returns.
    private HorovodException endReason(Throwable end) {
        HorovodException reason = closed;
        if (reason != null && end.equals(reason)) {
            return reason;
        }
        try {
            return explain.apply(end);
        } catch (RuntimeException e) {
            end.addSuppressed(e);
            return new HorovodException("a collective failed on this rank: " + end, end);
        }
    }

    /// Calls [#doWork], and idles if there was nothing to do. Before it throws because a rank is
    /// lost, it handles the messages that the rank has sent.
    ///
    /// @return whether there was something to do
    private boolean drive() {
        if (doWork()) {
            idleStrategy.reset();
            return true;
        }
        try {
            state.check();
            controlChannel.check();
        } catch (HorovodException e) {
            if (doWork()) {
                return true;
            }
            throw e;
        }
        betweenBatches = true;
        idleStrategy.idleUnchecked();
        betweenBatches = false;
        return false;
    }

    /// Advances the follower once and exchanges messages. In a locked plan this runs one batch.
    ///
    /// @return whether there was something to do
    private boolean doWork() {
        boolean moved = follower.advance();
        if (moved && planFollower.mode() == PlanFollower.Mode.LOCKED) {
            return true; // a batch of a plan needs no messages
        }
        return controlChannel.exchange() || moved;
    }

    /// Messages end a sleep between batches, and in a plan. A batch that the coordinator has decided
    /// reads none, so messages that arrive early would only keep its thread awake.
    private void awaitMessages(LinkParker parker) {
        controlChannel.registerWith(parker, betweenBatches || planFollower.isInPlan());
    }

    /// Called while a batch waits for other ranks: in a plan, a message may end the wait.
    private void receiveInPlan() {
        if (planFollower.isInPlan()) {
            controlChannel.exchangeWhileWaiting();
        }
    }

    /// Leaves the plan when the program has waited too long for an operation that the plan holds
    /// back.
    private void leavePlanIfStuck(TensorEntry<?> tensorEntry) {
        if (!queue.isStuck(tensorEntry)) {
            blockedWait = null;
            return;
        }
        long now = clock.nanoTime();
        long completed = state.completed();
        BlockedWait before = blockedWait;
        if (before == null || before.completed() != completed) {
            blockedWait = new BlockedWait(now, completed);
        } else if (now - before.sinceNanos() > STUCK_TIMEOUT_NANOS) {
            queue.deviate(Deviation.STUCK);
            cycleThread.wakeIf(true);
        }
    }

    /// Stops driving. A waiting thread takes over. If no thread waits and there is more work,
    /// thread `hvd-cycle` takes over, unless the program is about to wait for that work.
    ///
    /// No submission is missed. One that comes before `stopDriving` is in the queue when this
    /// method checks it. One that comes later sees that no thread drives: it wakes thread
    /// `hvd-cycle`, or its own thread drives.
    private void release() {
        idleStrategy.reset(); // no other rank needs to wake this one any more
        queue.stopDriving();
        Thread waiting = waiter;
        if (waiting != null) {
            LockSupport.unpark(waiting);
        } else if (!queue.isEmpty()) {
            cycleThread.wakeIf(queue.hasWork() && !isAwaited());
        }
    }
}
