package org.horovod4j.runtime.cycle;

import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.ShutDownException;

/// Runs operations one at a time in the order they come.
///
/// A caller that would wait anyway runs its operation itself when it is the next: handing it to another
/// thread and back would cost more than a small operation takes.
public final class OperationQueue implements AutoCloseable {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Queue<Pending<?>> queue = new ArrayDeque<>();
    private final Set<String> inFlight = new HashSet<>();
    private final Thread thread;
    private boolean busy;
    private boolean closed;

    /// @param threadName what thread dumps show: `hvd-cycle` and the rank
    public OperationQueue(String threadName) {
        this.thread = Thread.ofPlatform().name(threadName).daemon().unstarted(this::work);
    }

    /// Runs `operation` when its turn has come, and returns its result.
    ///
    /// @throws IllegalArgumentException when one of `names` is in flight already
    public <T> T run(List<String> names, Supplier<T> operation) {
        lock.lock();
        try {
            admit(names);
            if (!busy && queue.isEmpty()) {
                busy = true;
            } else {
                return enqueue(new Pending<>(names, operation)).joinUnlocked(lock);
            }
        } finally {
            if (lock.isHeldByCurrentThread()) {
                lock.unlock();
            }
        }
        try {
            return operation.get();
        } finally {
            release(names);
        }
    }

    /// Queues `operation` and returns at once.
    ///
    /// @throws IllegalArgumentException when one of `names` is in flight already
    public <T> Handle<T> submit(List<String> names, Supplier<T> operation) {
        lock.lock();
        try {
            admit(names);
            return enqueue(new Pending<>(names, operation)).promise;
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
            while (busy) {
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }

    private void admit(List<String> names) {
        if (closed) {
            throw shutDown();
        }
        for (String name : names) {
            if (inFlight.contains(name)) {
                throw new IllegalArgumentException(
                        """
                        '%s' is in flight already: wait for its handle before you submit it again, or \
                        use another name"""
                                .formatted(name));
            }
        }
        inFlight.addAll(names);
    }

    private <T> Pending<T> enqueue(Pending<T> pending) {
        queue.add(pending);
        if (thread.getState() == Thread.State.NEW) {
            thread.start();
        }
        changed.signalAll();
        return pending;
    }

    private void release(List<String> names) {
        lock.lock();
        try {
            busy = false;
            names.forEach(inFlight::remove);
            if (closed || !queue.isEmpty()) {
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    private void work() {
        while (true) {
            Pending<?> next;
            lock.lock();
            try {
                while (!closed && (busy || queue.isEmpty())) {
                    changed.awaitUninterruptibly();
                }
                if (closed) {
                    return;
                }
                next = queue.remove();
                busy = true;
            } finally {
                lock.unlock();
            }
            next.perform(this);
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

        /// Frees the names before the handle is done, so that its owner can use them again at once.
        void perform(OperationQueue owner) {
            try {
                T result = operation.get();
                owner.release(names);
                promise.complete(result);
            } catch (HorovodException e) {
                owner.release(names);
                promise.fail(e);
            } catch (RuntimeException | Error e) {
                owner.release(names);
                promise.fail(new HorovodException("an operation failed: " + e, e));
            }
        }

        T joinUnlocked(ReentrantLock held) {
            held.unlock();
            return promise.join();
        }
    }
}
