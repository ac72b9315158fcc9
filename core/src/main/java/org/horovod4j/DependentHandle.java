package org.horovod4j;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;

/// A handle of what follows an operation: a function of its result, or a second operation.
///
/// The function is called exactly once, however many threads wait, and not at all when the first
/// operation fails. A failure of either is kept and thrown by every [#join].
///
/// @param <S> what the first operation returns
/// @param <T> what this handle returns
final class DependentHandle<S, T> implements Handle<T> {
    private final Handle<S> first;
    private final Function<? super S, ? extends Handle<T>> next;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable Handle<T> second;

    /// Whether the function was called before the first operation has ended on its device.
    private volatile boolean calledEarly;

    private DependentHandle(Handle<S> first, Function<? super S, ? extends Handle<T>> next) {
        this.first = first;
        this.next = next;
    }

    /// See [Handle#thenApply]. The thread that needs the result calls the function, rather than a
    /// thread that other operations wait for.
    static <S, T> Handle<T> applying(Handle<S> first, Function<? super S, ? extends T> function) {
        return new DependentHandle<>(
                first, result -> new CompletedHandle<>(function.apply(result)));
    }

    /// See [Handle#thenCompose].
    ///
    /// A virtual thread submits the second operation. If a thread that joins the handle did it, two
    /// ranks that join two such handles in different orders would each wait for an operation that
    /// the other has not submitted.
    static <S, T> Handle<T> composing(
            Handle<S> first, Function<? super S, ? extends Handle<T>> function) {
        DependentHandle<S, T> handle = new DependentHandle<>(first, function);
        Thread.ofVirtual().name("hvd-compose").start(handle::follow);
        return handle;
    }

    /// Whether both parts are done, with all that they write. May call the function.
    @Override
    public boolean isDone() {
        Handle<T> follower = second;
        if (follower == null) {
            // A thread that holds the lock is calling the function: then this is not done.
            if (!first.isDone() || !lock.tryLock()) {
                return false;
            }
            try {
                follower = proceed(first::join);
            } finally {
                lock.unlock();
            }
        }
        return follower.isDone() && (!calledEarly || first.isDone());
    }

    @Override
    public T join() {
        T result = follow().join();
        if (calledEarly) {
            S _ = first.join();
        }
        return result;
    }

    /// Calls the function when the first operation is launched: it must not read elements on a device.
    @Override
    public T awaitOn(DeviceStream stream) {
        S launched;
        try {
            launched = first.awaitOn(stream);
        } catch (RuntimeException _) {
            return follow().join(); // which throws the same exception
        }
        Handle<T> follower;
        lock.lock();
        try {
            calledEarly |= second == null;
            follower = proceed(() -> launched);
        } finally {
            lock.unlock();
        }
        return follower.awaitOn(stream);
    }

    @Override
    public T join(Duration timeout) {
        HandleDeadline deadline = HandleDeadline.after(timeout);
        Handle<T> follower = second;
        if (follower == null) {
            follower = followUntil(deadline);
        }
        T result = follower.join(deadline.remaining());
        if (calledEarly) {
            S _ = first.join(deadline.remaining());
        }
        return result;
    }

    @Override
    public Optional<HorovodException> failure() {
        Handle<T> follower = second;
        return follower == null
                ? first.failure()
                : follower.failure().or(() -> calledEarly ? first.failure() : Optional.empty());
    }

    /// The second part, once the first is done.
    private Handle<T> follow() {
        Handle<T> follower = second;
        if (follower != null) {
            return follower;
        }
        awaitFirst();
        lock.lock();
        try {
            return proceed(first::join);
        } finally {
            lock.unlock();
        }
    }

    /// Waits without the lock, so that other threads can still call [#isDone].
    private void awaitFirst() {
        try {
            S _ = first.join();
        } catch (RuntimeException _) {
            // start() gets the same exception, and keeps it
        }
    }

    private Handle<T> followUntil(HandleDeadline deadline) {
        try {
            S _ = first.join(deadline.remaining());
        } catch (OperationTimeoutException e) {
            throw e;
        } catch (RuntimeException _) {
            // start() gets the same exception, and keeps it
        }
        if (!tryLock(deadline)) {
            throw new OperationTimeoutException(
                    "the function that follows a collective has not ended in time");
        }
        try {
            return proceed(first::join);
        } finally {
            lock.unlock();
        }
    }

    private boolean tryLock(HandleDeadline deadline) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return lock.tryLock(deadline.remaining().toNanos(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException _) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /// @param result of the first operation
    private Handle<T> proceed(Supplier<S> result) {
        Handle<T> follower = second;
        if (follower == null) {
            follower = start(result);
            second = follower;
        }
        return follower;
    }

    private Handle<T> start(Supplier<S> result) {
        try {
            return next.apply(result.get());
        } catch (HorovodException e) {
            return new FailedHandle<>(e);
        } catch (RuntimeException | Error e) {
            return new FailedHandle<>(
                    new HorovodException("the function that follows a collective failed: " + e, e));
        }
    }

    private record FailedHandle<T>(HorovodException reason) implements Handle<T> {
        @Override
        public boolean isDone() {
            return true;
        }

        @Override
        public T join() {
            throw reason;
        }

        @Override
        public T join(Duration timeout) {
            throw reason;
        }

        @Override
        public Optional<HorovodException> failure() {
            return Optional.of(reason);
        }
    }
}
