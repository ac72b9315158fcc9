package org.horovod4j.djl.engine;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;

import org.horovod4j.SparseTensor;
import org.horovod4j.option.HookChoice;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// What an adapter needs of an engine and DJL's API does not have.
///
/// | engine  | memory of an array       | gradient inside our memory | told of a gradient    | accumulates |
/// |---------|--------------------------|----------------------------|-----------------------|-------------|
/// | PyTorch | its own, on the CPU      | yes                        | by a hook of libtorch | yes         |
/// | MXNet   | its own, on the CPU      | no                         | by waiting for it     | no          |
/// | others  | copied through DJL's API | no                         | no                    | presumably  |
public interface EngineAccess {
    /// The access to the engine that this manager's arrays live in.
    static EngineAccess of(NDManager manager) {
        return switch (manager.getEngine().getEngineName()) {
            case "PyTorch" -> PyTorchAccess.ofThisProcess();
            case "MXNet" -> MxNetAccess.ofThisProcess();
            case String other ->
                    new CopyingAccess(other, true, "engine %s has no hooks".formatted(other));
        };
    }

    /// The array's own bytes: writable, where they are for as long as the array lives and nobody
    /// moves it, in row-major order. Empty where only copies are to be had: on a GPU, of a sparse
    /// array, of one whose elements do not lie densely.
    Optional<MemorySegment> memory(NDArray array);

    /// Copies the elements of any array, in row-major order; of a sparse one, all of the dense
    /// array that it stands for.
    ///
    /// @param into as many bytes as the array has
    default void read(NDArray array, MemorySegment into) {
        SizeCheck.requireSameSize("read", array, into);
        memory(array).ifPresentOrElse(into::copyFrom, () -> NDArrayBytes.read(array, into));
    }

    /// Copies into the elements of any dense array.
    ///
    /// @param from as many bytes as the array has
    default void write(NDArray array, MemorySegment from) {
        SizeCheck.requireSameSize("write", array, from);
        memory(array)
                .ifPresentOrElse(
                        memory -> memory.copyFrom(from), () -> NDArrayBytes.write(array, from));
    }

    /// Lets the array live in `memory` from now on, with the elements that it has. Whoever calls
    /// this keeps the memory until the array is closed: the engine does not know whose it is.
    ///
    /// @param memory outside the heap, as many bytes as the array has
    /// @return false when the engine cannot, and the array is where it was
    boolean moveInto(NDArray array, MemorySegment memory);

    /// Waits until what computes this array is done.
    void await(NDArray array);

    /// The rows that a sparse gradient has; copies, which live as long as they are used. Empty for
    /// a dense array.
    Optional<SparseTensor> sparse(NDArray array);

    /// Whether a backward pass adds to the gradients, so that several may be accumulated; else it
    /// overwrites those that it comes to.
    boolean accumulates();

    /// How to be told that a gradient is ready while backward goes on.
    ///
    /// @param choice the option `HOROVOD_GRADIENT_HOOKS`
    BackwardHooks hooks(HookChoice choice);

    /// Throws what [BackwardHooks.Working#changeGradient] has led to since the last time, if something
    /// failed.
    default void rethrow() {}
}
