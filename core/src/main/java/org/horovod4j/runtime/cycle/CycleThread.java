package org.horovod4j.runtime.cycle;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;

/// Thread `hvd-cycle` of an agent: drives the cycle while the program computes.
///
/// It starts when it is first needed. It polls every few milliseconds while operations are in flight
/// and no thread of the program drives; otherwise it parks.
final class CycleThread {
    /// The time between two polls.
    private static final long POLL_NANOS = 3_000_000;

    /// If more polls than this find nothing to drive, the thread parks until it is woken. A poll
    /// and a wake-up cost about the same, and both take time from a core that computes. So the
    /// thread stays awake between training steps that follow each other closely, and parks during
    /// long ones.
    private static final int MAX_IDLE_POLLS = 2;

    private final CycleAgent agent;
    private final TensorQueue queue;
    private final WaitPredictor waitPredictor;
    private final Thread thread;

    /// Whether it polls; otherwise it must be woken.
    private volatile boolean polling;

    /// Whether it was woken because there is work, and not only to poll again.
    private volatile boolean wokenForWork;

    CycleThread(
            ThreadFactory factory,
            CycleAgent agent,
            TensorQueue queue,
            WaitPredictor waitPredictor) {
        this.agent = agent;
        this.queue = queue;
        this.waitPredictor = waitPredictor;
        this.thread = factory.newThread(this::run);
    }

    private void run() {
        int idle = 0;
        while (!agent.isClosed()) {
            waitPredictor.onPoll();
            boolean work = queue.pollForWork();
            idle = needsPolling() ? 0 : idle + 1;
            if (idle > MAX_IDLE_POLLS) {
                parkUntilSubmitted();
                idle = 0;
            } else if (!work) {
                LockSupport.parkNanos(agent, POLL_NANOS);
            }
            if (!agent.driveInBackground() && work) {
                LockSupport.parkNanos(agent, POLL_NANOS);
            }
        }
    }

    /// Whether entries are in flight and no thread of the program drives.
    private boolean needsPolling() {
        return !agent.isDriven() && !queue.isEmpty();
    }

    /// Waits until an entry is in flight that no other thread drives. If there is no work yet,
    /// waits for one more poll interval.
    private void parkUntilSubmitted() {
        wokenForWork = false;
        polling = false;
        // Either this thread now sees an earlier submission, or a later one sees that it does not
        // poll. So a submission that fills no batch needs no memory fence. The conditions are read
        // after the wait for the lock, which may consume a wake-up.
        queue.passLock();
        if (!polling && !agent.isClosed() && !needsPolling()) {
            LockSupport.park(agent);
        }
        polling = true;
        if (!wokenForWork) {
            LockSupport.parkNanos(agent, POLL_NANOS);
        }
    }

    /// Wakes the thread if it is needed.
    ///
    /// @param ready whether there is work now; false if the thread only needs to poll
    void wakeIf(boolean ready) {
        if ((ready && !agent.isDriven()) || !polling) {
            if (ready) {
                wokenForWork = true;
            }
            polling = true;
            if (thread.getState() == Thread.State.NEW) {
                start();
            }
            LockSupport.unpark(thread);
        }
    }

    private synchronized void start() {
        if (thread.getState() == Thread.State.NEW && !agent.isClosed()) {
            thread.start();
        }
    }

    /// Lets the thread see that the agent is closed.
    void end() {
        LockSupport.unpark(thread);
    }
}
