package org.horovod4j.pytorch;

import org.bytedeco.pytorch.Tensor;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;

/// Collectives on tensors of PyTorch. They return new tensors, and autograd does not record them.
public final class TensorCollectives {
    private final Communicator communicator;

    public TensorCollectives(Communicator communicator) {
        this.communicator = communicator;
        TorchLibrary.runtime();
    }

    /// Reduces `tensor` over all ranks into a new tensor.
    public Tensor allreduce(String name, Tensor tensor, ReduceOp op) {
        return allreduceAsync(name, tensor, op).join();
    }

    public Handle<Tensor> allreduceAsync(String name, Tensor tensor, ReduceOp op) {
        return communicator
                .allreduceAsync(name, TensorMemory.copy(tensor), op)
                .thenApply(TensorMemory::newTensor);
    }

    /// Joins the ranks' tensors along the first dimension. First dimensions may differ.
    public Tensor allgather(String name, Tensor tensor) {
        return allgatherAsync(name, tensor).join();
    }

    public Handle<Tensor> allgatherAsync(String name, Tensor tensor) {
        return communicator
                .allgatherAsync(name, TensorMemory.copy(tensor))
                .thenApply(TensorMemory::newTensor);
    }

    /// The tensor of `rootRank`. All ranks pass a tensor of the same type and shape.
    public Tensor broadcast(String name, Tensor tensor, int rootRank) {
        return broadcastAsync(name, tensor, rootRank).join();
    }

    public Handle<Tensor> broadcastAsync(String name, Tensor tensor, int rootRank) {
        return communicator
                .broadcastAsync(name, TensorMemory.copy(tensor), rootRank)
                .thenApply(TensorMemory::newTensor);
    }

    /// Sends rows of `tensor` to each rank; the options say how many each rank gets.
    public Handle<Tensor> alltoallAsync(String name, Tensor tensor, AlltoallOptions options) {
        return communicator
                .alltoallAsync(name, TensorMemory.copy(tensor), options)
                .thenApply(AlltoallResult::tensor)
                .thenApply(TensorMemory::newTensor);
    }

    public Tensor alltoall(String name, Tensor tensor, AlltoallOptions options) {
        return alltoallAsync(name, tensor, options).join();
    }

    /// Reduces `tensor` over all ranks and returns to each its part of the rows.
    public Tensor reducescatter(String name, Tensor tensor, ReduceOp op) {
        return TensorMemory.newTensor(
                communicator.reducescatter(name, TensorMemory.copy(tensor), op));
    }
}
