package org.horovod4j.djl.engine;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;

import org.horovod4j.DeviceStream;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.option.HookChoice;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// Access to an engine that DJL's API does not offer.
///
/// | engine  | memory of an array       | gradient in our memory     | gradient is ready     | accumulates |
/// |---------|--------------------------|----------------------------|-----------------------|-------------|
/// | PyTorch | direct, on CPU and GPU   | yes                        | hook of libtorch      | yes         |
/// | MXNet   | direct, on the CPU       | no                         | by waiting for it     | no          |
/// | others  | copied through DJL's API | no                         | no                    | assumed     |
public interface EngineAccess {
    /// The access to the engine of a manager's arrays.
    static EngineAccess of(NDManager manager) {
        return switch (manager.getEngine().getEngineName()) {
            case "PyTorch" -> PyTorchAccess.ofThisProcess();
            case "MXNet" -> MxNetAccess.ofThisProcess();
            case String other ->
                    new CopyingAccess(other, true, "engine %s has no hooks".formatted(other));
        };
    }

    /// The bytes of the array, writable, in row-major order. They are valid until the array is closed
    /// or moved. Empty if only copies are possible: on a GPU, for a sparse array, or for one that is not
    /// contiguous.
    Optional<MemorySegment> memory(NDArray array);

    /// The array as a tensor in the memory of the engine, valid as [#memory] is. It may be on a device;
    /// then it is ready on the [#stream] of this thread. Empty if only copies are possible.
    default Optional<Tensor> tensor(NDArray array) {
        return memory(array)
                .map(
                        memory ->
                                Tensor.of(
                                        memory,
                                        DataTypes.of(array.getDataType()),
                                        DataTypes.shape(array)));
    }

    /// The stream on which the engine launches what this thread computes on `device`. Empty if the
    /// engine computes in main memory, or arrays of the device cannot be used as tensors.
    default Optional<DeviceStream> stream(Device device) {
        return Optional.empty();
    }

    /// Copies the elements of any array, in row-major order. A sparse array is copied as a dense one.
    ///
    /// @param into memory of the size of the array
    default void read(NDArray array, MemorySegment into) {
        CopyCheck.requireSameSize("read", array, into);
        memory(array).ifPresentOrElse(into::copyFrom, () -> NDArrayBytes.read(array, into));
    }

    /// Copies the elements of any array. If `into` is on a device, it is the device of the array, and
    /// the copy is launched on the [#stream] of this thread.
    default void read(NDArray array, Tensor into) {
        read(array, into.segment());
    }

    /// Overwrites the elements of a dense array. If `from` is on a device, it is the device of the
    /// array, and the copy is launched on the [#stream] of this thread.
    default void write(NDArray array, Tensor from) {
        write(array, from.segment());
    }

    /// Overwrites the elements of a dense array.
    ///
    /// @param from memory of the size of the array
    default void write(NDArray array, MemorySegment from) {
        CopyCheck.requireSameSize("write", array, from);
        memory(array)
                .ifPresentOrElse(
                        memory -> memory.copyFrom(from), () -> NDArrayBytes.write(array, from));
    }

    /// Moves the array into `memory`, with its elements. The caller keeps the memory until the array is
    /// closed: the engine does not free it.
    ///
    /// @param memory memory outside the heap, of the size of the array
    /// @return false if the engine does not support it; the array has not moved
    boolean moveInto(NDArray array, MemorySegment memory);

    /// Moves the array into the memory of `place`, with its elements, as above. It may be on the device
    /// of the array.
    default boolean moveInto(NDArray array, Tensor place) {
        return moveInto(array, place.segment());
    }

    /// Waits until the array is computed.
    void await(NDArray array);

    /// The rows of a sparse gradient, as copies. Empty for a dense array.
    Optional<SparseTensor> sparse(NDArray array);

    /// Whether a backward pass adds to gradients, so that several passes can be accumulated. Otherwise
    /// it overwrites them.
    boolean accumulates();

    /// Hooks that are called during backward when a gradient is ready.
    ///
    /// @param choice the option `HOROVOD_GRADIENT_HOOKS`
    BackwardHooks hooks(HookChoice choice);

    /// Throws the failure of a [BackwardHooks.Available#transformGradient] since the last call, if there
    /// was one.
    default void rethrow() {}
}
