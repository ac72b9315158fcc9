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

/// Collectives that are part of the computation: backward goes through them, to all ranks.
///
/// They are for losses and layers that look at the data of all ranks. Gradients of parameters need
/// none of this: the optimizer reduces them.
public final class DifferentiableCollectives {
    private DifferentiableCollectives() {}

    /// Reduces `array` over all ranks into a new array. What backward brings for the result is
    /// reduced in the same way, so that each rank gets the gradient of the sum of all ranks' losses
    /// (of their average, if `op` is AVERAGE); so backward must come by the result on every rank,
    /// or on none.
    ///
    /// Both wait for all ranks. If the reduction fails in backward, which DJL has no way to throw,
    /// the gradient is NaN, and the next [DistributedOptimizer#synchronize], `trainer.step()` with
    /// such an optimizer, or call of this method throws.
    ///
    /// @param name the same on all ranks; `name + ".gradient"` is used too
    /// @param array in the memory of the host, of engine PyTorch
    /// @param op AVERAGE or SUM
    /// @throws UnsupportedOperationException when backward cannot be made to reduce gradients, by
    ///     an engine or version that has no hooks, or on a GPU
    public static NDArray allreduce(
            Communicator communicator, String name, NDArray array, ReduceOp op) {
        requireLinear(name, op);
        EngineAccess access = EngineAccess.of(array.getManager());
        HookChoice choice = FrameworkSettings.of(communicator).gradientHooks();
        BackwardHooks.Available hooks = requireHooks(name, access.hooks(choice));
        access.rethrow();
        DataType dataType = DataTypes.of(array.getDataType());
        Shape shape = Shape.of(array.size());

        // elements side by side in memory of their own, and part of the graph: duplicate() is not
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

    /// The gradient of a sum is the sum of gradients; other reductions have no such simple one.
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
                    throw unsupported(name, "there are no hooks on gradients, since " + reason);
        };
    }

    private static UnsupportedOperationException unsupported(String name, String reason) {
        return new UnsupportedOperationException(
                """
                differentiable allreduce of '%s': %s
                Backward could not go through it. See docs/djl-engines.md for what works where."""
                        .formatted(name, reason));
    }
}
