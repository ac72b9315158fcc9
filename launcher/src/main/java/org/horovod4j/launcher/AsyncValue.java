package org.horovod4j.launcher;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/// A value that another thread computes. Loading an executor would take longer than most of these
/// computations.
final class AsyncValue<T> {
    private final FutureTask<T> task;

    private AsyncValue(FutureTask<T> task) {
        this.task = task;
    }

    static <T> AsyncValue<T> of(Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        Thread.ofPlatform().daemon().name("hvd-prepare").start(task);
        return new AsyncValue<>(task);
    }

    /// Waits for the value. Throws what the computation threw.
    T get() throws InterruptedException {
        try {
            return task.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IllegalStateException(e.getCause());
        }
    }
}
