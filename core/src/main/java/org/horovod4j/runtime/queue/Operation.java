package org.horovod4j.runtime.queue;

import org.horovod4j.AlltoallResult;
import org.horovod4j.Tensor;

/// The tensors of an operation on this rank.
///
/// @param <T> its result
public sealed interface Operation<T> {
    /// Reduces `input` into `output`, which may be the same tensor.
    record Allreduce(Tensor input, Tensor output) implements Operation<Tensor> {}

    record Allgather(Tensor tensor) implements Operation<Tensor> {}

    record Broadcast(Tensor tensor) implements Operation<Tensor> {}

    /// Sends `splits[r]` rows to each rank.
    @SuppressWarnings("ArrayRecordComponent") // passed on, never compared
    record Alltoall(Tensor tensor, int[] splits) implements Operation<AlltoallResult> {}

    record Reducescatter(Tensor tensor) implements Operation<Tensor> {}

    record Barrier() implements Operation<Boolean> {}

    /// Returns the last rank that joined.
    record Join() implements Operation<Integer> {}

    /// Returns the last rank that ended its step.
    ///
    /// @param reason why the step has failed on this rank
    record FailStep(String reason) implements Operation<Integer> {}
}
