package org.horovod4j.tensorflow;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.tensorflow.kernel.Execution;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/// Ends the run of a node when its collective has ended.
///
/// The thread that ends the collective also ends the run, so nodes end in the order of collectives.
/// Thread `hvd-cycle` drives communication, in the background: most of the time TensorFlow still
/// computes other gradients on the same cores.
///
/// If a plan holds an operation back, only a thread that waits for the operation leaves the plan. So
/// each communicator has a thread that waits for the operations that take long.
final class RunCompletion {
    private static final long IDLE_SECONDS = 10;

    /// Longer than most backward passes, during which an operation may wait for the rest of its batch.
    private static final long LONG_MILLIS = 1_000;

    private static final Map<Communicator, Executor> WAITING_THREADS =
            Collections.synchronizedMap(new WeakHashMap<>());

    private RunCompletion() {}

    /// @param finish writes the outputs that need the result
    static <T> void follow(
            Communicator communicator,
            Handle<T> handle,
            Execution execution,
            Consumer<? super T> finish) {
        CountDownLatch ended = new CountDownLatch(1);
        handle.whenDone(
                () -> {
                    ended.countDown();
                    end(handle, execution, finish);
                });
        WAITING_THREADS
                .computeIfAbsent(communicator, _ -> waitingThread())
                .execute(() -> await(handle, ended));
    }

    private static <T> void end(Handle<T> handle, Execution execution, Consumer<? super T> finish) {
        try {
            finish.accept(handle.join());
        } catch (RuntimeException | Error e) {
            execution.fail(e);
            return;
        }
        execution.complete();
    }

    private static void await(Handle<?> handle, CountDownLatch ended) {
        try {
            if (!ended.await(LONG_MILLIS, TimeUnit.MILLISECONDS)) {
                Object _ = handle.join();
            }
        } catch (HorovodException _) {
            // the run of the node fails with it
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt(); // the thread ends
        }
    }

    /// Ends after some time without operations.
    private static Executor waitingThread() {
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
        Thread.ofVirtual()
                .name(name)
                .start(
                        () -> {
                            try {
                                action.run();
                            } catch (RuntimeException | Error e) {
                                execution.fail(e);
                                return;
                            }
                            execution.complete();
                        });
    }
}
