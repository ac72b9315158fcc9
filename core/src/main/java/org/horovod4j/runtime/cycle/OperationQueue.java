package org.horovod4j.runtime.cycle;

import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.ShutDownException;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/// Runs operations one at a time in the order they come.
///
/// A caller that would wait anyway runs its operation itself: handing it to another thread and back would
/// cost more than a small operation takes, and the tensor may lie in memory that only the caller may
/// touch. When nothing is queued that way takes no lock: `turn` holds the name of the operation whose turn
/// it is, and is taken by whoever finds it free.
public final class OperationQueue implements AutoCloseable {
    /// No operation has this name.
    private static final String FREE = "";

    /// The operation that runs: its name, [#FREE], or null once closed.
    private final AtomicReference<@Nullable String> turn = new AtomicReference<>(FREE);

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Queue<Pending<?>> queue = new ArrayDeque<>();
    private final Set<String> inFlight = new HashSet<>();
    private final Thread thread;

    /// Operations submitted and not yet done; changed under the lock, read without.
    private final AtomicInteger submitted = new AtomicInteger();

    /// Callers that wait to run their operations themselves; changed under the lock, read without.
    private final AtomicInteger waiting = new AtomicInteger();

    private volatile boolean closed;

    /// @param threadName what thread dumps show: `hvd-cycle` and the rank
    public OperationQueue(String threadName) {
        this.thread = Thread.ofPlatform().name(threadName).daemon().unstarted(this::work);
    }

    /// Runs `operation` when its turn has come, and returns its result.
    ///
    /// @throws IllegalArgumentException when `name` is in flight already
    public <T> T run(String name, Supplier<T> operation) {
        if (!takeTurn(name)) {
            awaitTurn(name);
        }
        // An interrupt would close files and sockets under the operation, and not end it on other
        // ranks.
        boolean interrupted = Thread.interrupted();
        try {
            return operation.get();
        } finally {
            release();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private boolean takeTurn(String name) {
        return submitted.get() == 0 && turn.compareAndSet(FREE, name);
    }

    /// Waits for all that was submitted before, and takes the turn.
    private void awaitTurn(String name) {
        lock.lock();
        waiting.incrementAndGet();
        try {
            checkUnused(name);
            while (!takeTurn(name)) {
                checkOpen();
                changed.awaitUninterruptibly();
            }
        } finally {
            waiting.decrementAndGet();
            lock.unlock();
        }
    }

    /// Queues `operation` and returns at once.
    ///
    /// @throws IllegalArgumentException when one of `names` is in flight already
    public <T> Handle<T> submit(List<String> names, Supplier<T> operation) {
        lock.lock();
        try {
            admit(names);
            Pending<T> pending = new Pending<>(names, operation);
            queue.add(pending);
            submitted.incrementAndGet();
            if (thread.getState() == Thread.State.NEW) {
                thread.start();
            }
            changed.signalAll();
            return pending.promise;
        } finally {
            lock.unlock();
        }
    }

    /// Lets what is queued fail, waits for what is running, and takes nothing more.
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            for (Pending<?> pending : queue) {
                pending.promise.fail(shutDown());
            }
            queue.clear();
            changed.signalAll();
            while (turn.get() != null && !turn.compareAndSet(FREE, null)) {
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }

    private void admit(List<String> names) {
        checkOpen();
        names.forEach(this::checkUnused);
        inFlight.addAll(names);
    }

    private void checkOpen() {
        if (closed) {
            throw shutDown();
        }
    }

    private void checkUnused(String name) {
        if (inFlight.contains(name) || name.equals(turn.get())) {
            throw new IllegalArgumentException(
                    """
                    '%s' is in flight already: wait for its handle before you submit it again, or \
                    use another name"""
                            .formatted(name));
        }
    }

    /// Gives the turn back, and wakes those who want it. Whoever comes later sees the turn free; whoever
    /// came before is seen here, since both sides write before they read.
    private void release() {
        turn.set(FREE);
        if (submitted.get() > 0 || waiting.get() > 0 || closed) {
            lock.lock();
            try {
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    private void work() {
        while (true) {
            Pending<?> next;
            lock.lock();
            try {
                while (!closed
                        && (queue.isEmpty() || !turn.compareAndSet(FREE, thread.getName()))) {
                    changed.awaitUninterruptibly();
                }
                if (closed) {
                    return;
                }
                next = queue.remove();
            } finally {
                lock.unlock();
            }
            next.perform(this);
        }
    }

    private void free(List<String> names) {
        lock.lock();
        try {
            names.forEach(inFlight::remove);
            submitted.decrementAndGet();
        } finally {
            lock.unlock();
        }
    }

    private static ShutDownException shutDown() {
        return new ShutDownException(
                "this rank has called shutdown; call init before further collectives");
    }

    private static final class Pending<T> {
        private final List<String> names;
        private final Supplier<T> operation;
        private final Promise<T> promise = new Promise<>();

        Pending(List<String> names, Supplier<T> operation) {
            this.names = names;
            this.operation = operation;
        }

        /// Frees the names before the handle is done, so that its owner can use them again at once, and
        /// passes the turn on after that, so that who comes next finds this one done.
        void perform(OperationQueue owner) {
            Runnable end = end();
            owner.free(names);
            end.run();
            owner.release();
        }

        private Runnable end() {
            try {
                T result = operation.get();
                return () -> promise.complete(result);
            } catch (HorovodException e) {
                return () -> promise.fail(e);
            } catch (RuntimeException | Error e) {
                return () -> promise.fail(new HorovodException("an operation failed: " + e, e));
            }
        }
    }
}
