package org.horovod4j.optim;

import org.horovod4j.DeviceStream;
import org.horovod4j.Tensor;

import java.util.List;
import java.util.Optional;

/// The parameters of a framework and their gradients, by position.
///
/// For Adasum an adapter returns the change of a parameter instead of its gradient, and applies the
/// reduced change. The reducer treats both alike.
public interface Gradients {
    /// The names of the parameters: unique, and the same on every rank, in the same order.
    List<String> names();

    /// Whether the parameter takes part in the next step. It may change between steps, on all ranks
    /// alike.
    boolean isTrainable(int parameter);

    /// Whether gradients can be acquired while a backward pass is still running. Otherwise all are
    /// launched when the step synchronizes. The same on every rank; it may change between steps.
    default boolean canAcquireDuringBackward() {
        return true;
    }

    /// The stream of a device on which the framework, called by this thread, uses reduced gradients.
    /// The reducer lets it wait for them, and not this thread. Empty if dense gradients are in main
    /// memory; the same device until the end of training otherwise.
    default Optional<DeviceStream> stream() {
        return Optional.empty();
    }

    /// The bytes of the gradient, if the framework computes it on a device; 0 in main memory. Gradients on
    /// a device are reduced in buckets: each launch there has a fixed cost.
    default long bytesOnDevice(int parameter) {
        return 0;
    }

    /// Multiplies a gradient on a device, which [#acquire] returned, on [#stream].
    default void scale(Tensor gradient, double factor) {
        throw new UnsupportedOperationException(
                "%s does not scale gradients on a device".formatted(getClass().getName()));
    }

    /// The gradient, in the memory of the framework or, if that is not accessible, as a copy. It is
    /// zero if no backward pass has computed it. The reducer uses the memory until [#setReduced]. On a
    /// device it is ready on the stream that computes it; see [Tensor#readyOn]. Sparse gradients are
    /// in main memory.
    ///
    /// Called once in a step, by the thread that calls [GradientReducer#ready] or
    /// [GradientReducer#synchronize].
    Gradient acquire(int parameter);

    /// Receives the reduced gradient. A dense gradient is in the memory that [#acquire] returned. A
    /// sparse one is in new memory, with unique rows in ascending order; it is dense if that is
    /// smaller, or if it was not exchanged.
    void setReduced(int parameter, Gradient reduced);

    /// The value of the parameter, in the memory of the framework or as a copy, if all ranks should
    /// have the same value: the reducer checks that from time to time. Empty if ranks may differ, as
    /// in the running statistics of a batch norm.
    default Optional<Tensor> value(int parameter) {
        return Optional.empty();
    }
}
