package org.horovod4j.launcher;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/// Runs a task for several hosts in parallel; for a single host on the calling thread.
final class ParallelTasks {
    /// The task for one host.
    interface Task<T, R> {
        R apply(T each) throws IOException, InterruptedException;
    }

    private ParallelTasks() {}

    /// Returns the results in the order of `all`. If a task fails, the others still complete, and
    /// then the first failure is thrown.
    static <T, R> List<R> map(Collection<T> all, Task<T, R> task)
            throws IOException, InterruptedException {
        List<R> results = new ArrayList<>();
        if (all.size() <= 1) {
            for (T each : all) {
                results.add(task.apply(each));
            }
            return results;
        }
        try (ExecutorService threads =
                Executors.newThreadPerTaskExecutor(
                        Thread.ofPlatform().daemon().name("hvd-host-", 0).factory())) {
            List<Future<R>> futures = new ArrayList<>();
            for (T each : all) {
                futures.add(threads.submit(() -> task.apply(each)));
            }
            for (Future<R> future : futures) {
                results.add(get(future));
            }
        }
        return results;
    }

    private static <R> R get(Future<R> future) throws IOException, InterruptedException {
        try {
            return future.get();
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case IOException cause -> throw new IOException(cause.getMessage(), cause);
                case RuntimeException cause -> throw cause;
                case null, default -> throw new IllegalStateException(e.getCause());
            }
        }
    }
}
