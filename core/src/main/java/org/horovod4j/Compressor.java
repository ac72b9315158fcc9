package org.horovod4j;

import java.util.Optional;

/// Reduces a tensor over all ranks while sending less than all of it.
///
/// A compressor decides how the tensor gets smaller, how the ranks' parts are combined and what is
/// kept from one step to the next. It submits collectives under names that begin with `name`, and
/// returns a handle that ends with the whole tensor. [Handle#thenApply] adds work after a
/// collective, [Handle#thenCompose] a second collective.
///
/// ```java
/// Compressor halves = (comm, name, tensor, op) -> {
///     Tensor small = Tensor.of(half(tensor.toFloatArray()), DataType.FLOAT16);
///     return comm.allreduceAsync(name, small, op).thenApply(sum -> restore(sum, tensor));
/// };
/// Hvd.allreduce("gradient", tensor, AllreduceOptions.average().withCompressor(halves));
/// ```
///
/// Tensors are identified by name: a compressor that keeps something for each of them, such as
/// values that it has not sent yet, keeps it under that name, and serves one communicator. Every
/// rank must use the same compressor for the same tensor, and all ranks must end with the same
/// bits. Scale factors are applied around the compressor, to the whole tensor.
@FunctionalInterface
public interface Compressor {
    /// Reduces `tensor` over all ranks of the communicator in place. The tensor belongs to the
    /// compressor until the handle is done.
    ///
    /// @return a handle that returns `tensor`
    /// @throws IllegalArgumentException for a tensor or an op that it cannot reduce, before
    ///     anything is sent
    Handle<Tensor> allreduceAsync(
            Communicator communicator, String name, Tensor tensor, ReduceOp op);

    /// The type in which elements are sent, if a conversion is all that the compressor does. The backend
    /// of a device converts them itself, and does not call [#allreduceAsync]. Empty if the compressor
    /// does more; see [#worksOnDevices].
    default Optional<DataType> wireType(DataType dataType) {
        return Optional.empty();
    }

    /// Whether [#allreduceAsync] takes tensors on a device, which the CPU cannot read.
    default boolean worksOnDevices() {
        return false;
    }
}
