package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.BackwardHooks;
import org.horovod4j.djl.engine.DataTypes;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.option.FrameworkSettings;
import org.horovod4j.option.HookChoice;

import java.lang.foreign.MemorySegment;

/// Collectives inside a computation: backward differentiates through them.
///
/// Use them for losses and layers that need data of all ranks. Gradients of parameters do not need
/// them: the optimizer reduces those.
public final class DifferentiableCollectives {
    private DifferentiableCollectives() {}

    /// Reduces `array` over all ranks into a new array. Backward reduces the gradient of the result in
    /// the same way. So each rank gets the gradient of the sum of all ranks' losses, or of their
    /// average if `op` is AVERAGE. Backward must pass through the result on every rank or on none.
    ///
    /// Both reductions wait for all ranks. If the reduction fails in backward, the gradient becomes
    /// NaN, because DJL cannot throw there. The exception is thrown by the next
    /// [DistributedOptimizer#synchronize], `trainer.step()` with such an optimizer, or call of this
    /// method.
    ///
    /// @param name of the allreduce, the same on all ranks; `name + ".gradient"` is used too
    /// @param array an array of engine PyTorch in host memory
    /// @param op AVERAGE or SUM
    /// @throws UnsupportedOperationException when backward cannot reduce gradients: the engine or its
    ///     version has no hooks, or the array is on a GPU
    public static NDArray allreduce(
            Communicator communicator, String name, NDArray array, ReduceOp op) {
        requireLinear(name, op);
        EngineAccess access = EngineAccess.of(array.getManager());
        HookChoice choice = FrameworkSettings.of(communicator).gradientHooks();
        BackwardHooks.Available hooks = requireHooks(name, access.hooks(choice));
        access.rethrow();
        DataType dataType = DataTypes.of(array.getDataType());
        Shape shape = Shape.of(array.size());

        // new contiguous memory that is part of the graph; duplicate() is not part of it
        NDArray result = array.flatten().add(0);
        MemorySegment memory =
                access.memory(result)
                        .orElseThrow(() -> unsupported(name, "the array is not on the host"));
        communicator.allreduce(name, Tensor.of(memory, dataType, shape), op);
        if (hooks.requiresGradient(result)) {
            hooks.transformGradient(
                    result,
                    gradient ->
                            communicator.allreduce(
                                    name + ".gradient", Tensor.of(gradient, dataType, shape), op));
        }
        return result.reshape(array.getShape());
    }

    /// The gradient of a sum is the sum of gradients. Other reductions have no such simple gradient.
    private static void requireLinear(String name, ReduceOp op) {
        switch (op) {
            case AVERAGE, SUM -> {}
            case MIN, MAX, PRODUCT, ADASUM ->
                    throw new IllegalArgumentException(
                            """
                            differentiable allreduce of '%s': %s has no gradient that can be reduced
                            Use AVERAGE or SUM."""
                                    .formatted(name, op));
        }
    }

    private static BackwardHooks.Available requireHooks(String name, BackwardHooks backwardHooks) {
        return switch (backwardHooks) {
            case BackwardHooks.Available available -> available;
            case BackwardHooks.Unavailable(String reason) ->
                    throw unsupported(name, "there are no hooks on gradients: " + reason);
        };
    }

    private static UnsupportedOperationException unsupported(String name, String reason) {
        return new UnsupportedOperationException(
                """
                differentiable allreduce of '%s': %s
                Backward cannot differentiate through it. See docs/djl-engines.md."""
                        .formatted(name, reason));
    }
}
