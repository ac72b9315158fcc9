package org.horovod4j.runtime.queue;

import org.horovod4j.AlltoallResult;
import org.horovod4j.Tensor;

/// What an operation works on, on this rank.
///
/// @param <T> what it returns
public sealed interface Operation<T> {
    /// Reduces `input` into `output`, which may be the same tensor.
    record Allreduce(Tensor input, Tensor output) implements Operation<Tensor> {}

    record Allgather(Tensor tensor) implements Operation<Tensor> {}

    record Broadcast(Tensor tensor) implements Operation<Tensor> {}

    /// Sends `splits[r]` rows to each rank.
    @SuppressWarnings("ArrayRecordComponent") // handed on, never compared
    record Alltoall(Tensor tensor, int[] splits) implements Operation<AlltoallResult> {}

    record Reducescatter(Tensor tensor) implements Operation<Tensor> {}

    record Barrier() implements Operation<Boolean> {}
}
