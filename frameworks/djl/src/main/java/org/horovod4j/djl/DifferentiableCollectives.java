package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;

import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.BackwardHooks;
import org.horovod4j.djl.engine.DataTypes;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.libtorch.GraphCollectives;
import org.horovod4j.option.FrameworkSettings;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;

/// Collectives inside a computation: backward differentiates through them.
///
/// Use them for losses and layers that need data of all ranks. Gradients of parameters do not need
/// them: the optimizer reduces those. The gradients are those of Horovod:
///
/// | forward       | gradient of this rank's input                                                  |
/// |---------------|--------------------------------------------------------------------------------|
/// | allreduce     | the gradients of all ranks, reduced by the same op                             |
/// | allgather     | this rank's rows of the sum of all gradients                                   |
/// | broadcast     | the sum of all gradients on the root rank, zeros on the others                 |
/// | alltoall      | the gradient rows, sent back to the ranks that their rows came from            |
/// | reducescatter | the gradients of all ranks, gathered; with SUM times the number of ranks       |
///
/// An array is one of engine PyTorch, on the CPU or a GPU. The name of a collective is the same on all
/// ranks, and names that begin with `name + ".gradient"` are used too. Backward must pass through the
/// result on every rank or on none.
///
/// Forward and backward wait for all ranks. If a collective fails in backward, the gradient becomes
/// NaN, because DJL cannot throw there. The exception is thrown by the next
/// [DistributedOptimizer#synchronize], `trainer.step()` with such an optimizer, or call of this class.
///
/// All methods throw `UnsupportedOperationException` when backward cannot run a collective, because the
/// engine or its version has no hooks.
public final class DifferentiableCollectives {
    /// All bits set: NaN in every type of floating-point numbers.
    private static final byte NAN = (byte) 0xFF;

    private DifferentiableCollectives() {}

    /// Reduces `array` over all ranks into a new array. Backward reduces the gradient of the result in
    /// the same way. So each rank gets the gradient of the sum of all ranks' losses.
    ///
    /// @param op AVERAGE or SUM
    public static NDArray allreduce(
            Communicator communicator, String name, NDArray array, ReduceOp op) {
        return GraphCollectives.allreduce(
                communicator, name, new Graph(communicator, "allreduce", name, array), op);
    }

    /// Joins the ranks' arrays along the first dimension into a new array. First dimensions may differ.
    public static NDArray allgather(Communicator communicator, String name, NDArray array) {
        return GraphCollectives.allgather(
                communicator, name, new Graph(communicator, "allgather", name, array));
    }

    /// The array of `rootRank`, as a new array. All ranks pass an array of the same type and shape.
    public static NDArray broadcast(
            Communicator communicator, String name, NDArray array, int rootRank) {
        return GraphCollectives.broadcast(
                communicator, name, new Graph(communicator, "broadcast", name, array), rootRank);
    }

    /// Sends rows of `array` to each rank; the options say how many each rank gets.
    public static AlltoallArray alltoall(
            Communicator communicator, String name, NDArray array, AlltoallOptions options) {
        GraphCollectives.Alltoall<NDArray> result =
                GraphCollectives.alltoall(
                        communicator,
                        name,
                        new Graph(communicator, "alltoall", name, array),
                        options);
        return new AlltoallArray(result.array(), ArrayCollectives.splits(result.received()));
    }

    /// Reduces `array` over all ranks and returns to each its part of the rows, as a new array. The
    /// first ranks get one row more if rows do not divide evenly.
    ///
    /// @param op AVERAGE or SUM
    public static NDArray reducescatter(
            Communicator communicator, String name, NDArray array, ReduceOp op) {
        return GraphCollectives.reducescatter(
                communicator, name, new Graph(communicator, "reducescatter", name, array), op);
    }

    /// The computation that a collective becomes a part of.
    private static final class Graph implements GraphCollectives.Input<NDArray> {
        private final String collective;
        private final String name;
        private final NDArray array;
        private final DataType dataType;
        private final Shape shape;
        private final EngineAccess access;
        private final BackwardHooks.Available hooks;

        Graph(Communicator communicator, String collective, String name, NDArray array) {
            this.collective = collective;
            this.name = name;
            this.array = array;
            this.dataType = DataTypes.of(array.getDataType());
            this.shape = DataTypes.shape(array);
            this.access = EngineAccess.of(array.getManager());
            this.hooks =
                    switch (access.hooks(FrameworkSettings.of(communicator).gradientHooks())) {
                        case BackwardHooks.Available available -> available;
                        case BackwardHooks.Unavailable(String reason) ->
                                throw unsupported("there are no hooks on gradients: " + reason);
                    };
            access.rethrow();
        }

        private UnsupportedOperationException unsupported(String reason) {
            return new UnsupportedOperationException(
                    """
                    differentiable %s of '%s': %s
                    Backward cannot differentiate through it. See docs/djl-engines.md."""
                            .formatted(collective, name, reason));
        }

        @Override
        public Tensor elements() {
            return TensorView.of(array).tensor();
        }

        @Override
        public NDArray inPlace(UnaryOperator<Tensor> forward, UnaryOperator<Tensor> backward) {
            // new contiguous memory that is part of the graph; duplicate() is not part of it
            NDArray result = array.flatten().add(0);
            TensorView elements = TensorView.of(result);
            Tensor _ = forward.apply(Tensor.of(elements.tensor().segment(), dataType, shape));
            elements.writeBack();
            if (hooks.requiresGradient(result)) {
                hooks.transformGradient(
                        result,
                        memory -> {
                            Tensor _ = backward.apply(Tensor.of(memory, dataType, shape));
                        });
            }
            return result.reshape(array.getShape());
        }

        /// The engine knows no function from the input to the result. It gets one with the right shapes,
        /// the sum of all elements, whose values are overwritten forward and backward.
        @Override
        public NDArray connect(Tensor value, int factor, UnaryOperator<Tensor> backward) {
            NDManager manager = array.getManager();
            // an array, since DJL frees a number before backward reads it
            NDArray factors =
                    manager.full(new ai.djl.ndarray.types.Shape(1), factor)
                            .toType(array.getDataType(), false)
                            .toDevice(array.getDevice(), false);
            NDArray input = array.flatten().mul(factors);
            NDArray result =
                    manager.zeros(
                                    ArrayCollectives.shape(value),
                                    array.getDataType(),
                                    array.getDevice())
                            .add(input.sum());
            access.write(result, value.segment());
            if (hooks.requiresGradient(result)) {
                AtomicReference<@Nullable Tensor> inputGradient = new AtomicReference<>();
                hooks.transformGradient(
                        result,
                        memory ->
                                inputGradient.set(
                                        backward.apply(
                                                Tensor.of(memory, dataType, value.shape()))));
                hooks.transformGradient(
                        input,
                        memory -> {
                            Tensor gradient = inputGradient.getAndSet(null);
                            if (gradient != null) {
                                memory.copyFrom(gradient.segment());
                            } else { // the first hook failed; a result without rows has no NaN
                                memory.fill(NAN);
                            }
                        });
            }
            return result;
        }
    }
}
