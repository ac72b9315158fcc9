package org.horovod4j;

/// Reduces a tensor over all ranks while sending less than all of it.
///
/// How it gets smaller, how the ranks' parts are put together and what is remembered from one step
/// to the next is the compressor's own affair: it submits what collectives it likes under names
/// that begin with `name`, and returns a handle that ends with the whole tensor. [Sequel#of] makes
/// such a handle of the collective and the work after it.
///
/// ```java
/// Compressor halves = (comm, name, tensor, op) -> {
///     Tensor small = Tensor.of(half(tensor.toFloatArray()), DataType.FLOAT16);
///     return Sequel.of(comm.allreduceAsync(name, small, op), sum -> restore(sum, tensor));
/// };
/// ```
///
/// Tensors are known by name: a compressor that keeps something for each of them, such as what it
/// has not sent yet, keeps it under that name, and serves one communicator. Every rank must use the
/// same compressor for the same tensor, and all ranks must end with the same bits.
@FunctionalInterface
public interface Compressor {
    /// Reduces `tensor` over all ranks in place. It belongs to the compressor until the handle is
    /// done.
    ///
    /// @return a handle that returns `tensor`
    /// @throws IllegalArgumentException for a tensor or an op that it cannot reduce, before
    ///     anything is sent
    Handle<Tensor> allreduceAsync(
            Communicator communicator, String name, Tensor tensor, ReduceOp op);
}
