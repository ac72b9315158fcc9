package org.horovod4j;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/// An operation that goes on when another one is done: with some work on its result, or with a
/// further operation.
///
/// What follows happens exactly once, however many threads ask, and not at all when the first
/// operation fails. A failure of either is kept and thrown by every [#join].
///
/// @param <S> what the first operation returns
/// @param <T> what comes of it
public final class Sequel<S, T> implements Handle<T> {
    private final Handle<S> first;
    private final Function<? super S, ? extends Handle<T>> next;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable Handle<T> second;

    private Sequel(Handle<S> first, Function<? super S, ? extends Handle<T>> next) {
        this.first = first;
        this.next = next;
    }

    /// The result of `first`, worked on by `finish`.
    ///
    /// The work is done by the first thread that joins the handle, or asks whether it is done when
    /// `first` is: a thread that wants the result anyway, rather than one that other operations
    /// wait for.
    public static <S, T> Handle<T> of(Handle<S> first, Function<? super S, ? extends T> finish) {
        return new Sequel<>(first, result -> done(finish.apply(result)));
    }

    /// The operation that `next` submits when `first` is done.
    ///
    /// A virtual thread waits for that moment. If the next operation were submitted by whoever
    /// joins the handle, two ranks that join two such handles in different orders would each wait
    /// for what the other has not submitted yet.
    public static <S, T> Handle<T> chain(
            Handle<S> first, Function<? super S, ? extends Handle<T>> next) {
        Sequel<S, T> sequel = new Sequel<>(first, next);
        Thread.ofVirtual().name("hvd-sequel").start(sequel::follow);
        return sequel;
    }

    /// What is done already, for a chain that may need no further operation.
    public static <T> Handle<T> done(T result) {
        return new Done<>(result);
    }

    /// Whether both parts are done, with all that they write. May do the work that follows the
    /// first.
    @Override
    public boolean isDone() {
        Handle<T> follower = second;
        if (follower == null) {
            // whoever holds the lock is doing the work just now: then it is not done yet
            if (!first.isDone() || !lock.tryLock()) {
                return false;
            }
            try {
                follower = proceed();
            } finally {
                lock.unlock();
            }
        }
        return follower.isDone();
    }

    @Override
    public T join() {
        return follow().join();
    }

    @Override
    public @Nullable HorovodException cause() {
        Handle<T> follower = second;
        return follower == null ? first.cause() : follower.cause();
    }

    /// What follows, once the first is done.
    private Handle<T> follow() {
        Handle<T> follower = second;
        if (follower != null) {
            return follower;
        }
        awaitFirst();
        lock.lock();
        try {
            return proceed();
        } finally {
            lock.unlock();
        }
    }

    /// Waits without the lock, so that others can still ask whether we are done.
    private void awaitFirst() {
        try {
            S _ = first.join();
        } catch (RuntimeException _) {
            // start() meets it again, and keeps it
        }
    }

    private Handle<T> proceed() {
        Handle<T> follower = second;
        if (follower == null) {
            follower = start();
            second = follower;
        }
        return follower;
    }

    private Handle<T> start() {
        try {
            return next.apply(first.join());
        } catch (HorovodException e) {
            return new Failed<>(e);
        } catch (RuntimeException | Error e) {
            return new Failed<>(
                    new HorovodException("what was to follow a collective failed: " + e, e));
        }
    }

    private record Done<T>(T result) implements Handle<T> {
        @Override
        public boolean isDone() {
            return true;
        }

        @Override
        public T join() {
            return result;
        }

        @Override
        public @Nullable HorovodException cause() {
            return null;
        }
    }

    private record Failed<T>(HorovodException cause) implements Handle<T> {
        @Override
        public boolean isDone() {
            return true;
        }

        @Override
        public T join() {
            throw cause;
        }
    }
}
