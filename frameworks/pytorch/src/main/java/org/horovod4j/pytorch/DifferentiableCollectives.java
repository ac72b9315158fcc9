package org.horovod4j.pytorch;

import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.libtorch.GraphCollectives;
import org.horovod4j.libtorch.TorchHooks;
import org.horovod4j.option.FrameworkSettings;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/// Collectives inside a computation: backward differentiates through them. The gradients are those of
/// Horovod; see [GraphCollectives].
///
/// Use them for losses and layers that need data of all ranks. Gradients of parameters do not need them:
/// the optimizer reduces those.
///
/// The name of a collective is the same on all ranks, and names that begin with `name + ".gradient"` are
/// used too. Backward must pass through the result on every rank or on none. Forward and backward wait for
/// all ranks. If a collective fails in backward, the gradient becomes NaN, because no exception can pass
/// through libtorch there. The exception is thrown by the next [DistributedOptimizer#synchronize],
/// [DistributedOptimizer#step], or call of this class.
///
/// (`org.bytedeco:pytorch` has no `torch::autograd::Function` that a Java class could extend. So a result
/// is computed by a function that libtorch knows, and hooks replace its gradient.)
///
/// All methods throw `UnsupportedOperationException` when there are no hooks on gradients.
public final class DifferentiableCollectives {
    /// All bits set: NaN in every type of floating-point numbers.
    private static final byte NAN = (byte) 0xFF;

    private DifferentiableCollectives() {}

    /// Reduces `tensor` over all ranks into a new tensor. Backward reduces the gradient of the result in
    /// the same way. So each rank gets the gradient of the sum of all ranks' losses.
    ///
    /// @param op AVERAGE or SUM
    public static Tensor allreduce(
            Communicator communicator, String name, Tensor tensor, ReduceOp op) {
        return GraphCollectives.allreduce(communicator, name, new Graph(communicator, tensor), op);
    }

    /// Joins the ranks' tensors along the first dimension into a new tensor. First dimensions may differ.
    public static Tensor allgather(Communicator communicator, String name, Tensor tensor) {
        return GraphCollectives.allgather(communicator, name, new Graph(communicator, tensor));
    }

    /// The tensor of `rootRank`, as a new tensor. All ranks pass a tensor of the same type and shape.
    public static Tensor broadcast(
            Communicator communicator, String name, Tensor tensor, int rootRank) {
        return GraphCollectives.broadcast(
                communicator, name, new Graph(communicator, tensor), rootRank);
    }

    /// Sends rows of `tensor` to each rank; the options say how many each rank gets.
    public static Tensor alltoall(
            Communicator communicator, String name, Tensor tensor, AlltoallOptions options) {
        return GraphCollectives.alltoall(
                        communicator, name, new Graph(communicator, tensor), options)
                .array();
    }

    /// Reduces `tensor` over all ranks and returns to each its part of the rows, as a new tensor. The
    /// first ranks get one row more if rows do not divide evenly.
    ///
    /// @param op AVERAGE or SUM
    public static Tensor reducescatter(
            Communicator communicator, String name, Tensor tensor, ReduceOp op) {
        return GraphCollectives.reducescatter(
                communicator, name, new Graph(communicator, tensor), op);
    }

    /// The computation that a collective becomes a part of.
    private static final class Graph implements GraphCollectives.Input<Tensor> {
        private final Tensor tensor;
        private final TorchHooks hooks;

        Graph(Communicator communicator, Tensor tensor) {
            this.tensor = tensor;
            this.hooks = TorchAutograd.hooks(FrameworkSettings.of(communicator).gradientHooks());
            TorchLibrary.runtime().deferredFailures().rethrow();
        }

        @Override
        public org.horovod4j.Tensor elements() {
            return TensorMemory.view(tensor);
        }

        @Override
        public Tensor inPlace(
                UnaryOperator<org.horovod4j.Tensor> forward,
                UnaryOperator<org.horovod4j.Tensor> backward) {
            Tensor result = tensor.add(new Scalar(0)); // new memory that is part of the graph
            org.horovod4j.Tensor elements = TensorMemory.copy(result);
            TensorMemory.write(result, forward.apply(elements));
            if (result.requires_grad()) {
                transform(
                        result,
                        gradient -> {
                            org.horovod4j.Tensor reduced = backward.apply(gradient);
                            if (reduced != gradient) {
                                gradient.segment().copyFrom(reduced.segment());
                            }
                        });
            }
            return result;
        }

        /// libtorch knows no function from the input to the result. It gets one with the right shapes, the
        /// sum of all elements, whose values are overwritten forward and backward.
        @Override
        public Tensor connect(
                org.horovod4j.Tensor value,
                int factor,
                UnaryOperator<org.horovod4j.Tensor> backward) {
            Tensor input = tensor.mul(new Scalar(factor));
            Tensor zeros =
                    TensorMemory.newTensor(
                            org.horovod4j.Tensor.zeros(value.dataType(), value.shape()));
            Tensor result = zeros.to(tensor.device(), tensor.scalar_type()).add(input.sum());
            TensorMemory.write(result, value);
            if (result.requires_grad()) {
                AtomicReference<org.horovod4j.@Nullable Tensor> inputGradient =
                        new AtomicReference<>();
                transform(result, gradient -> inputGradient.set(backward.apply(gradient)));
                transform(
                        input,
                        memory -> {
                            org.horovod4j.Tensor gradient = inputGradient.getAndSet(null);
                            if (gradient != null) {
                                memory.segment().copyFrom(gradient.segment());
                            } else { // the first hook failed; a result without rows has no NaN
                                memory.segment().fill(NAN);
                            }
                        });
            }
            return result;
        }

        private void transform(Tensor result, Consumer<org.horovod4j.Tensor> change) {
            DataType dataType = TorchTypes.of(result);
            Shape shape = TorchTypes.shape(result);
            hooks.transformGradient(
                    result.address(),
                    TorchTypes.byteSize(result),
                    memory -> change.accept(org.horovod4j.Tensor.of(memory, dataType, shape)));
        }
    }
}
