package org.horovod4j.collectives.algorithm;

import org.horovod4j.log.Log;
import org.horovod4j.spi.FusedTensors;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;

/// Threads that share the work of a large collective with the thread that runs it, on cores that
/// are idle while the program waits.
///
/// The work is divided into numbered tasks, and every thread takes the next free one. So a helper
/// that wakes up late delays nothing: the other threads have done its tasks. Helpers
/// start when they are first needed; if the system has no more threads, the caller works alone.
/// Between tasks they spin for 100 µs, which bridges the gaps within a collective, then they park.
public final class HelperThreads implements AutoCloseable {
    private static final Logger LOG = Log.of(HelperThreads.class);
    private static final long SPIN_NANOS = 100_000;
    private static final int SPINS_PER_CLOCK = 32;

    /// Below this size of all tensors, waking helpers costs more than they save.
    private static final long MIN_BYTES = 512 * 1024;

    /// The least bytes of a part, when a step of a collective is divided.
    private static final long MIN_PART_BYTES = 32 * 1024;

    private final int count;
    private final ThreadFactory factory;
    private final BooleanSupplier programWaits;
    private Helper[] helpers = {};
    private boolean enabled;
    private volatile @Nullable Tasks current;
    private long lastTasks;
    private volatile boolean closed;

    /// @param count the number of threads
    /// @param factory creates the threads
    /// @param programWaits whether the program waits for the current collective; otherwise it
    ///     computes, and helpers would take its cores
    public HelperThreads(int count, ThreadFactory factory, BooleanSupplier programWaits) {
        this.count = count;
        this.factory = factory;
        this.programWaits = programWaits;
    }

    /// No threads: the caller does all the work.
    public static HelperThreads none() {
        return new HelperThreads(0, Thread::new, () -> false);
    }

    /// Decides whether helpers take part in the next collective.
    ///
    /// @return the number of threads that work on it, the caller included
    public int begin(FusedTensors fusedTensors) {
        enabled =
                count > 0
                        && !closed
                        && fusedTensors.byteSize() >= MIN_BYTES
                        && programWaits.getAsBoolean()
                        && start()
                        && fusedTensors.isAccessibleBy(helpers[0].thread);
        return threads();
    }

    /// The number of threads that work on the current collective, the caller included.
    int threads() {
        return enabled ? count + 1 : 1;
    }

    /// Divides a range of elements among the threads. Returns when all of it is done.
    ///
    /// @param byteSize the size of an element
    void divide(long elements, int byteSize, RangeWork work) {
        if (!enabled || elements * byteSize < 2 * MIN_PART_BYTES) {
            work.run(0, elements);
            return;
        }
        int parts = (int) Math.min(threads(), elements * byteSize / MIN_PART_BYTES);
        run(
                parts,
                part -> {
                    long first = Partition.start(elements, part, parts);
                    work.run(first, Partition.start(elements, part + 1, parts) - first);
                });
    }

    /// Runs `work` as often as there are threads. A thread that finishes early may run it again.
    ///
    /// @param work finds out itself what is left to do
    void share(Runnable work) {
        if (enabled) {
            run(threads(), _ -> work.run());
        } else {
            work.run();
        }
    }

    private void run(int tasks, IntConsumer work) {
        Tasks shared = new Tasks(++lastTasks, tasks, work);
        current = shared;
        for (Helper helper : helpers) {
            if (helper.parked) {
                LockSupport.unpark(helper.thread);
            }
        }
        shared.work();
        shared.awaitEnd();
        current = null;
        shared.rethrow();
    }

    /// Starts the threads, unless they run already. If one cannot be created, the others end, and this
    /// object never tries again.
    ///
    /// @return whether they run
    private boolean start() {
        if (helpers.length == 0) {
            helpers = startAll();
            if (helpers.length < count) {
                close();
            }
        }
        return !closed;
    }

    /// @return fewer than there should be if the system has no more threads
    private Helper[] startAll() {
        List<Helper> started = new ArrayList<>();
        try {
            while (started.size() < count) {
                Helper helper = new Helper(factory);
                helper.thread.start();
                started.add(helper);
            }
        } catch (RuntimeException | OutOfMemoryError e) { // the latter: no more native threads
            LOG.log(
                    Level.WARNING,
                    """
                    Cannot start helper threads, so large operations of this rank use one thread: {0}
                    Raise the limit of threads (ulimit -u, or that of the container), or set \
                    HOROVOD_HELPER_THREADS=0.""",
                    e.toString());
        }
        return started.toArray(Helper[]::new);
    }

    /// Ends the threads. The caller runs no collective meanwhile.
    @Override
    public void close() {
        closed = true;
        for (Helper helper : helpers) {
            LockSupport.unpark(helper.thread);
        }
    }

    /// Work on a range of elements.
    interface RangeWork {
        void run(long first, long elements);
    }

    private final class Helper implements Runnable {
        private final Thread thread;
        private volatile boolean parked;
        private long seen;

        Helper(ThreadFactory factory) {
            this.thread = factory.newThread(this);
        }

        @Override
        public void run() {
            while (!closed) {
                Tasks tasks = awaitTasks();
                if (tasks != null) {
                    seen = tasks.number;
                    tasks.work();
                }
            }
        }

        /// Waits for tasks that this thread has not seen. May return null before there are any.
        private @Nullable Tasks awaitTasks() {
            long end = System.nanoTime() + SPIN_NANOS;
            do {
                for (int i = 0; i < SPINS_PER_CLOCK; i++) {
                    Tasks tasks = newTasks();
                    if (tasks != null) {
                        return tasks;
                    }
                    Thread.onSpinWait();
                }
            } while (System.nanoTime() < end);
            parked = true;
            Tasks tasks = newTasks();
            if (tasks == null && !closed) {
                LockSupport.park(HelperThreads.this);
            }
            parked = false;
            return tasks;
        }

        private @Nullable Tasks newTasks() {
            Tasks tasks = current;
            return tasks == null || tasks.number == seen ? null : tasks;
        }
    }

    /// Numbered tasks, each of which one thread takes.
    private static final class Tasks {
        private final long number;
        private final int count;
        private final IntConsumer work;
        private final AtomicInteger taken = new AtomicInteger();
        private final AtomicInteger done = new AtomicInteger();
        private volatile @Nullable RuntimeException failure;
        private volatile @Nullable Error error;

        /// @param number no other tasks of this object have it
        Tasks(long number, int count, IntConsumer work) {
            this.number = number;
            this.count = count;
            this.work = work;
        }

        void work() {
            for (int task = taken.getAndIncrement(); task < count; task = taken.getAndIncrement()) {
                try {
                    work.accept(task);
                } catch (RuntimeException e) {
                    failure = e;
                } catch (Error e) {
                    error = e;
                } finally {
                    done.incrementAndGet();
                }
            }
        }

        /// Waits for the tasks that helpers have taken. They compute and never wait, so this is
        /// short.
        void awaitEnd() {
            for (int spins = 0; done.get() < count; spins++) {
                if (spins < 10 * SPINS_PER_CLOCK) {
                    Thread.onSpinWait();
                } else {
                    Thread.yield(); // the core of a helper is busy with something else
                }
            }
        }

        void rethrow() {
            Error thrownError = error;
            if (thrownError != null) {
                throw thrownError;
            }
            RuntimeException thrown = failure;
            if (thrown != null) {
                throw thrown;
            }
        }
    }
}
