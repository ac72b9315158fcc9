package org.horovod4j;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/// An operation that was submitted and may still be running. Its tensors belong to Horovod4J until
/// it is done.
///
/// ```java
/// Handle<Tensor> sum = Hvd.allreduceAsync("gradient", Tensor.of(gradient), ReduceOp.SUM);
/// prepareNextBatch(); // while the ranks communicate
/// Tensor result = sum.join();
///
/// Handle<float[]> copy = sum.thenApply(Tensor::toFloatArray);
/// List<Tensor> all = Handle.allOf(List.of(sum, other)).join();
/// ```
///
/// An operation cannot be cancelled: the other ranks may have begun to write its result. So an
/// interrupt does not end a wait either. The waiting thread keeps its interrupt status, and the
/// program sees it after the call.
///
/// Handles may be used from any thread.
///
/// An operation on tensors of a device runs there after it was launched. [#join()] waits for its end;
/// [#awaitOn] lets a stream of the device wait for it.
///
/// @param <T> what the operation returns
public interface Handle<T> {
    /// Whether the operation has ended, with a result or a failure.
    boolean isDone();

    /// Waits for the end and returns the result. The thread that waits also drives communication,
    /// so this is the fastest way to wait. An interrupt does not end the wait.
    ///
    /// @throws HorovodException the failure: [MismatchException], [PeerLostException],
    ///     [ShutDownException]
    T join();

    /// Waits for the end, but not longer than `timeout`, and returns the result. An interrupt does
    /// not end the wait.
    ///
    /// @throws OperationTimeoutException after that time. The operation continues, its tensors stay
    ///     in use, and this handle may be joined again.
    /// @throws HorovodException the failure, as in [#join()]
    T join(Duration timeout);

    /// Lets `stream` wait for the result, instead of this thread: what is launched on `stream` from now
    /// on runs after the operation. Waits only until the operation is launched on the device, which
    /// needs all ranks to have submitted it. For a result in main memory it is the same as [#join()].
    ///
    /// If a rank is lost later, the stream continues with a result that is not valid. The next call of
    /// Horovod4J on this rank then throws.
    ///
    /// @param stream a stream of the device of the result
    /// @return the result, which work on `stream` may use
    /// @throws HorovodException the failure, as in [#join()]
    default T awaitOn(DeviceStream stream) {
        return join();
    }

    /// Why the operation failed; empty while it runs and after it succeeded.
    Optional<HorovodException> failure();

    /// A handle for the result of this operation after `function`.
    ///
    /// The function runs once, and only if the operation succeeds. It runs on the first thread that
    /// joins the new handle, or calls its [#isDone] after the operation ended: so it may take long
    /// without delaying other operations. If it throws, the new handle fails with that.
    default <R> Handle<R> thenApply(Function<? super T, ? extends R> function) {
        return DependentHandle.applying(this, function);
    }

    /// A handle for the operation that `function` submits when this one has succeeded.
    ///
    /// A virtual thread waits for that moment and calls the function, so all ranks submit the
    /// second operation, in whatever order they join their handles.
    default <R> Handle<R> thenCompose(Function<? super T, ? extends Handle<R>> function) {
        return DependentHandle.composing(this, function);
    }

    /// Calls `action` once, when the operation has ended, with a result or a failure. If it has ended
    /// already, calls it now.
    ///
    /// The thread that ends the operation calls `action`, and other operations wait for that thread:
    /// the action must be short, must not wait for an operation, and must not throw. It serves
    /// frameworks that schedule what follows themselves. Thread `hvd-cycle` drives communication, so
    /// operations end even if no thread waits for them. One exception: if a plan holds the operation
    /// back, only a thread that waits for it or polls it leaves the plan.
    default void whenDone(Runnable action) {
        Thread.ofVirtual()
                .name("hvd-done")
                .start(
                        () -> {
                            try {
                                T _ = join();
                            } catch (HorovodException _) {
                                // the action finds it in failure()
                            }
                            action.run();
                        });
    }

    /// A future that ends as the operation does. A virtual thread waits for the operation. To
    /// cancel the future does not end the operation.
    default CompletableFuture<T> toCompletableFuture() {
        CompletableFuture<T> future = new CompletableFuture<>();
        Thread.ofVirtual()
                .name("hvd-future")
                .start(
                        () -> {
                            try {
                                future.complete(join());
                            } catch (RuntimeException | Error e) {
                                future.completeExceptionally(e);
                            }
                        });
        return future;
    }

    /// A handle for several operations, which is done when all are. Its result has theirs in the
    /// order of `handles`.
    ///
    /// Its [#join()] waits for all of them even when one fails, because their tensors are in use
    /// until then, and throws the failure of the first in the list.
    static <T> Handle<List<T>> allOf(List<? extends Handle<T>> handles) {
        return new CombinedHandle<>(handles);
    }

    /// A handle that is done, with this result.
    static <T> Handle<T> completed(T result) {
        return new CompletedHandle<>(result);
    }
}
