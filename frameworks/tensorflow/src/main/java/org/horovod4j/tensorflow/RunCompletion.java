package org.horovod4j.tensorflow;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.tensorflow.kernel.Execution;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/// Ends the run of a node when its collective has ended.
///
/// The thread that ends the collective also ends the run, so nodes end in the order of collectives.
/// Thread `hvd-cycle` drives communication, in the background: most of the time TensorFlow still
/// computes other gradients on the same cores.
///
/// A plan may hold an operation back until the rest of its batch is submitted. If a program does not
/// run the rest, this rank must leave the plan, which happens only while a thread waits for the
/// operation. So each communicator has a thread that waits for operations that take long.
///
/// If another node of the run fails, TensorFlow waits for the operation. Another rank may never submit it,
/// because the run has failed there, too. So the failure is reported after some time. Only the oldest operation of
/// each communicator is watched.
final class RunCompletion {
    private static final long IDLE_SECONDS = 10;

    /// After this time an operation counts as held back. Leaving a plan costs a step of longer backward
    /// passes little.
    private static final long HELD_BACK_NANOS = 250_000_000;

    /// How long other ranks may take to submit an operation of a run that has failed here. If they do, the
    /// run throws, and the program reports the failure with its reason.
    private static final long CANCELLED_NANOS = 2_000_000_000;

    private static final Map<Communicator, Executor> WAITERS =
            Collections.synchronizedMap(new WeakHashMap<>());

    private RunCompletion() {}

    /// @param name of the node
    /// @param finish writes the outputs that need the result
    static <T> void completeWhenDone(
            Communicator communicator,
            String name,
            Handle<T> handle,
            Execution execution,
            Consumer<? super T> finish) {
        FailedRun.dropFinishedReport(communicator, name);
        Run<T> run = new Run<>(communicator, name, handle, execution, finish);
        // First, because it may throw, and then the caller ends the execution.
        WAITERS.computeIfAbsent(communicator, _ -> waiter()).execute(run::awaitIfHeldBack);
        handle.whenDone(run);
    }

    /// Ends the execution when it is called.
    private static final class Run<T> implements Runnable {
        private final Communicator communicator;
        private final String name;
        private final Handle<T> handle;
        private final Execution execution;
        private final Consumer<? super T> finish;
        private volatile boolean ended;

        Run(
                Communicator communicator,
                String name,
                Handle<T> handle,
                Execution execution,
                Consumer<? super T> finish) {
            this.communicator = communicator;
            this.name = name;
            this.handle = handle;
            this.execution = execution;
            this.finish = finish;
        }

        @Override
        public void run() {
            ended = true;
            complete(execution, () -> finish.accept(handle.join()));
        }

        /// Nothing wakes this thread when the operation ends: it would take time from those that
        /// compute.
        void awaitIfHeldBack() {
            try {
                if (!hasEndedWithin(HELD_BACK_NANOS)) {
                    Thread.ofVirtual().name("hvd-cancelled-run").start(this::reportIfCancelled);
                    Object _ = handle.join();
                }
            } catch (HorovodException _) {
                // the run of the node fails with it
            }
        }

        private void reportIfCancelled() {
            while (!isCancelled()) {
                if (hasEndedWithin(HELD_BACK_NANOS)) {
                    return;
                }
            }
            if (!hasEndedWithin(CANCELLED_NANOS)) {
                FailedRun.reportEarly(communicator, name, () -> ended);
            }
        }

        private boolean hasEndedWithin(long nanos) {
            long start = System.nanoTime();
            for (long left = nanos;
                    left > 0 && !ended;
                    left = nanos - (System.nanoTime() - start)) {
                LockSupport.parkNanos(this, left);
            }
            return ended;
        }

        /// The flag is valid as long as the node is in flight.
        private boolean isCancelled() {
            return execution.isCancelled() && !ended;
        }
    }

    /// Ends after some time without operations.
    private static Executor waiter() {
        ThreadPoolExecutor thread =
                new ThreadPoolExecutor(
                        1,
                        1,
                        IDLE_SECONDS,
                        TimeUnit.SECONDS,
                        new LinkedBlockingQueue<>(),
                        Thread.ofPlatform().daemon().name("hvd-tensorflow").factory());
        thread.allowCoreThreadTimeOut(true);
        return thread;
    }

    /// Runs `action`, which waits for other ranks, and ends the run after it.
    static void runBlocking(String name, Execution execution, Runnable action) {
        Thread.ofVirtual().name(name).start(() -> complete(execution, action));
    }

    private static void complete(Execution execution, Runnable action) {
        try {
            action.run();
        } catch (RuntimeException | Error e) {
            execution.fail(e);
            return;
        }
        execution.complete();
    }
}
