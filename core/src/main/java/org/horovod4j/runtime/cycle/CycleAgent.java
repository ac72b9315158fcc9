package org.horovod4j.runtime.cycle;

import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.cycle.TensorQueue.Deviation;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.IdleStrategy;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/// Makes the submitted operations of one process set happen.
///
/// Whoever waits for an operation drives the cycle itself while it waits: handing it to another
/// thread and back would cost more than a small operation takes. While the program does something
/// else, thread `hvd-cycle` drives, and as long as anything is in flight it looks every few
/// milliseconds whether other ranks have something to say. One thread drives at a time; it owns the
/// [Follower] and the [ControlChannel], and gives them up between two steps.
public final class CycleAgent implements TensorEntry.ProgressEngine {
    /// How long the program may wait for an operation that a plan keeps back for want of others,
    /// before the plan is left.
    private static final long STUCK_TIMEOUT_NANOS = 10_000_000;

    /// How long to wait for whoever drives before looking again.
    private static final long DRIVER_WAIT_NANOS = 1_000_000;

    /// How often thread `hvd-cycle` looks after operations that wait for others of this rank.
    private static final long POLL_NANOS = 3_000_000;

    /// How often it goes on looking when there are none. A look and a wake-up cost about the same, and
    /// where every core computes, both take it from a core that does: steps that follow each other
    /// closely need no wake-up, and long ones are not looked through.
    private static final int MAX_IDLE_POLLS = 1;

    private final TensorQueue queue;
    private final WaitPredictor waitPredictor;
    private final Follower follower;
    private final ControlChannel controlChannel;
    private final ProcessSetState state;
    private final IdleStrategy idleStrategy;
    private final int processSet;
    private final Recorder recorder;
    private final Clock clock;
    private final Function<Throwable, HorovodException> explain;
    private final AtomicReference<@Nullable Thread> driver = new AtomicReference<>();
    private final Thread thread;
    private volatile @Nullable HorovodException closed;

    /// A thread of the program that waits while another drives. It gets the cycle at the next
    /// chance: with several batches to come, it would otherwise be woken for each, only to wait for
    /// the next.
    private volatile @Nullable Thread waiter;

    /// Whether thread `hvd-cycle` looks by itself; otherwise it must be woken.
    private volatile boolean polling;

    /// Whether it was woken for something to do now, rather than to look by itself again.
    private volatile boolean wokenForWork;

    /// The wait that was last seen to be in vain, which may be over.
    private volatile @Nullable BlockedWait blockedWait;

    /// Puts an agent together.
    ///
    /// @param threadName what thread dumps show: `hvd-cycle`, the rank and the process set
    /// @param steps hears of each step of a locked plan
    /// @param explain tells the world of a failure, and finds the best story for it
    public CycleAgent(
            String threadName,
            ProcessSetContext context,
            StepListener steps,
            Function<Throwable, HorovodException> explain) {
        this.state = context.state();
        this.processSet = context.processSet();
        this.recorder = context.recorder();
        this.clock = context.clock();
        this.queue = new TensorQueue(clock);
        this.waitPredictor = new WaitPredictor(clock);
        this.idleStrategy =
                new IdleStrategy(() -> {}, clock, context.crowded()); // each step checks by itself
        this.explain = explain;
        this.controlChannel =
                new ControlChannel(
                        new ControlConnections(context.control(), context.rank(), context.size()),
                        context.coordinator(),
                        state,
                        idleStrategy,
                        clock,
                        decision -> this.follower().handle(decision));
        this.follower = new Follower(context, queue, controlChannel::send, steps);
        this.thread = Thread.ofPlatform().name(threadName).daemon().unstarted(this::work);
        state.setWaitHook(this::receiveInPlan);
    }

    private Follower follower() {
        return follower;
    }

    /// The program waits for what the plan keeps back.
    ///
    /// @param sinceNanos when that was first seen
    /// @param completed how many operations were over by then; once there are more, a wait is another
    ///     one, though nobody may have seen the end of this one
    private record BlockedWait(long sinceNanos, long completed) {}

    /// Hears of each step of a locked plan, on the driving thread.
    @FunctionalInterface
    public interface StepListener {
        /// Hears of a step.
        ///
        /// @return whether to leave the plan now
        boolean onStep(long bytes, long nanos);
    }

    /// Submits an operation and returns at once.
    public <T> Handle<T> submit(Request request, Operation<T> operation) {
        TensorEntry<T> tensorEntry = entry(request, operation);
        try {
            submitted(queue.submit(tensorEntry));
        } catch (RuntimeException e) {
            throw recordRejection(request, e);
        }
        return tensorEntry;
    }

    /// Submits an operation and returns its result.
    public <T> T perform(Request request, Operation<T> operation) {
        TensorEntry<T> tensorEntry = entry(request, operation);
        try {
            boolean _ = queue.submit(tensorEntry);
        } catch (RuntimeException e) {
            throw recordRejection(request, e);
        }
        return tensorEntry.join();
    }

    /// Submits operations that belong together, all or none.
    public <T> List<TensorEntry<T>> submitAll(
            List<Request> requests, List<? extends Operation<T>> operations) {
        List<TensorEntry<T>> entries = new ArrayList<>(requests.size());
        for (int i = 0; i < requests.size(); i++) {
            entries.add(entry(requests.get(i), operations.get(i)));
        }
        try {
            submitted(!entries.isEmpty() && queue.submit(entries));
        } catch (RuntimeException e) {
            requests.forEach(request -> recordRejection(request, e));
            throw e;
        }
        return entries;
    }

    /// @param work whether there is something to do now, rather than when more has come
    private void submitted(boolean work) {
        wakeIf(work && driver.get() == null && !isAwaited());
    }

    private boolean isAwaited() {
        Batch batch = queue.ready();
        return batch != null && waitPredictor.expectsWait(batch);
    }

    private <T> TensorEntry<T> entry(Request request, Operation<T> operation) {
        if (recorder.isOn()) {
            recorder.submitted(processSet, request.name(), request.collectiveKind().name());
        }
        return new TensorEntry<>(request, operation, this);
    }

    private RuntimeException recordRejection(Request request, RuntimeException reason) {
        if (recorder.isOn()) {
            recorder.negotiationFailed(
                    processSet, request.name(), String.valueOf(reason.getMessage()));
        }
        return reason;
    }

    /// Takes part with nothing in whatever the others do, until all ranks have called this.
    ///
    /// @return the last rank to call it, as a rank of the process set
    public int join() {
        TensorEntry<Integer> last =
                new TensorEntry<>(Request.join(), new Operation.Barrier(), this);
        queue.join(last);
        return last.join();
    }

    /// What is in flight.
    public List<TensorEntry<?>> pending() {
        return queue.pending();
    }

    /// The join that this rank waits in, or null when it has not joined.
    public @Nullable TensorEntry<Integer> joining() {
        return queue.joining();
    }

    @Override
    public void completionObserved() {
        queue.completionObserved();
    }

    /// A program that looks again and again is waiting too, and must not look in vain.
    @Override
    public void polled(TensorEntry<?> tensorEntry) {
        leavePlanIfStuck(tensorEntry);
        wakeIf(queue.hasWork());
    }

    @Override
    public void await(TensorEntry<?> tensorEntry) {
        waitPredictor.onWait();
        while (!tensorEntry.hasEnded()) {
            if (driver.compareAndSet(null, Thread.currentThread())) {
                // An interrupt would close files and sockets under the operation, and not end it on
                // other ranks.
                boolean interrupted = Thread.interrupted();
                try {
                    driveUntil(tensorEntry);
                } finally {
                    release();
                    if (interrupted) {
                        Thread.currentThread().interrupt();
                    }
                }
            } else {
                awaitDriver(tensorEntry);
                leavePlanIfStuck(tensorEntry);
            }
        }
    }

    /// Waits for the end of `entry`, or for the cycle to be free.
    private void awaitDriver(TensorEntry<?> tensorEntry) {
        waiter = Thread.currentThread();
        if (driver.get() != null) {
            tensorEntry.awaitEnd(DRIVER_WAIT_NANOS);
        }
        waiter = null;
        if (tensorEntry.hasEnded() && driver.get() == null && queue.hasWork()) {
            wakeIf(!isAwaited()); // what was left to this thread it does not need
        }
    }

    /// Lets what is in flight fail with `reason`, and whatever is submitted from now on.
    public void close(HorovodException reason) {
        closed = reason;
        state.close(reason);
        LockSupport.unpark(thread);
        while (!driver.compareAndSet(null, Thread.currentThread())) {
            LockSupport.parkNanos(
                    this, DRIVER_WAIT_NANOS); // the driver sees soon that it is closed
        }
        queue.close(reason);
        driver.set(null);
    }

    /// What this rank is doing, in words.
    public String describe() {
        return follower.toString();
    }

    private void driveUntil(TensorEntry<?> tensorEntry) {
        idleStrategy.reset();
        try {
            while (!tensorEntry.hasEnded()) {
                if (!drive()) {
                    leavePlanIfStuck(tensorEntry);
                }
            }
        } catch (RuntimeException | Error e) {
            queue.close(endReason(e));
        }
    }

    /// The work of thread `hvd-cycle`.
    private void work() {
        int idle = 0;
        while (closed == null) {
            waitPredictor.onPoll();
            boolean work = queue.pollForWork();
            if (work || !queue.isEmpty()) {
                idle = 0;
            }
            if (idle > MAX_IDLE_POLLS) {
                parkUntilSubmitted();
                idle = 0;
            } else if (!work) {
                idle++;
                LockSupport.parkNanos(this, POLL_NANOS);
            }
            if (waiter == null
                    && !queue.isEmpty()
                    && driver.compareAndSet(null, Thread.currentThread())) {
                driveWhileBusy();
            } else if (work) {
                LockSupport.parkNanos(this, POLL_NANOS);
            }
        }
    }

    /// Waits until something is in flight, and then as long as between two looks, unless there is
    /// something to do at once.
    private void parkUntilSubmitted() {
        wokenForWork = false;
        polling = false;
        if (queue.isEmpty()) {
            LockSupport.park(this);
        }
        polling = true;
        if (!wokenForWork) {
            LockSupport.parkNanos(this, POLL_NANOS);
        }
    }

    /// Takes at least one step, to hear what others say, and goes on while there is something to
    /// do.
    private void driveWhileBusy() {
        idleStrategy.reset();
        try {
            boolean _ = step();
            while (queue.hasWork() && closed == null && waiter == null) {
                boolean _ = drive();
            }
        } catch (RuntimeException | Error e) {
            queue.close(endReason(e));
        } finally {
            release();
        }
    }

    /// Why nothing more will happen: what this was closed for, or the best story of a failure.
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

    /// Takes a step, or lets some time pass. Whatever others have said before they left is heard
    /// before they are missed.
    ///
    /// @return whether there was a step to take
    private boolean drive() {
        if (step()) {
            idleStrategy.reset();
            return true;
        }
        try {
            state.check();
            controlChannel.check();
        } catch (HorovodException e) {
            if (step()) {
                return true;
            }
            throw e;
        }
        idleStrategy.idle();
        return false;
    }

    private boolean step() {
        boolean moved = follower.advance();
        if (moved && follower.mode() == Follower.Mode.LOCKED) {
            return true; // a step of a plan sends nothing and waits for nothing
        }
        return controlChannel.exchange() || moved;
    }

    private void receiveInPlan() {
        if (follower.isInPlan()) {
            controlChannel.exchangeWhileWaiting();
        }
    }

    /// Leaves the plan when the program has waited for too long for what the plan keeps back.
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
            queue.deviate(Deviation.FAULT);
            wakeIf(true);
        }
    }

    /// Gives the cycle up, to a thread that waits, or to thread `hvd-cycle` if there is more to do
    /// and the program is not about to wait for that. Whoever submits after this sees that nobody
    /// drives; whoever submitted before is seen here.
    private void release() {
        driver.set(null);
        Thread waiting = waiter;
        if (waiting != null) {
            LockSupport.unpark(waiting);
        } else if (queue.hasWork()) {
            wakeIf(!isAwaited());
        }
    }

    /// Sees to it that thread `hvd-cycle` looks after what is in flight.
    ///
    /// @param ready whether there is something to do now, rather than when more has come
    private void wakeIf(boolean ready) {
        if ((ready && driver.get() == null) || !polling) {
            if (ready) {
                wokenForWork = true;
            }
            polling = true;
            if (thread.getState() == Thread.State.NEW) {
                startThread();
            }
            LockSupport.unpark(thread);
        }
    }

    private synchronized void startThread() {
        if (thread.getState() == Thread.State.NEW && closed == null) {
            thread.start();
        }
    }
}
