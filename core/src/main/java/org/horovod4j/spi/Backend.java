package org.horovod4j.spi;

import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Tensor;

import java.util.List;

/// Performs collectives of one process set on one rank, by a library that cannot cancel them: a
/// [HostBackend] or a [DeviceBackend].
///
/// A backend implements those of the nested interfaces that it can keep; core asks the next backend
/// for the others. The last one is of core, and has all.
///
/// A collective of NCCL or MPI cannot be cancelled once a rank has started it. But a locked plan needs
/// that: see [CancellableBackend]. So core lets all ranks *meet* on the host before it calls a method:
/// every rank calls it, with the same arguments except addresses and row counts, in the same order.
/// Until they have met, ranks can cancel a batch together, and the backend does not notice. So a
/// backend needs no stamps and no reset. The meeting is a barrier of core's backend, some microseconds
/// on one host, and carries the row counts, so backends exchange no sizes.
///
/// Core allocates all outputs. A rank that has joined contributes tensors that do not change the
/// result, so a backend does not know about joins.
///
/// All ranks must get the same bits. The bits may depend on which tensors are fused: core then fuses
/// in plans only, which are the same in every run.
///
/// One thread at a time calls the collectives and [#close]. Other threads may call [#check] and
/// [#abort] meanwhile.
public interface Backend extends AutoCloseable {
    /// Throws if work that was launched has failed: an asynchronous error. Called every few
    /// milliseconds while an operation is incomplete.
    ///
    /// @throws org.horovod4j.HorovodException the error, in the words of the library
    void check();

    /// Ends all work, complete or not, because a rank is lost (`ncclCommAbort`). A few seconds
    /// later no work waits for other ranks. Later collectives throw. Returns soon.
    void abort();

    /// Frees what the backend holds. Its work is complete, or [#abort] was called.
    @Override
    void close();

    /// Allreduce over fused tensors; see [CancellableBackend#allreduce]. Scaling and averages are
    /// the backend's work. It sends elements as [FusedTensors#wireType].
    interface SupportsAllreduce extends Backend {
        void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor);
    }

    /// Adasum over fused tensors, each combined separately; see [CancellableBackend#adasum].
    interface SupportsAdasum extends Backend {
        void adasum(FusedTensors fusedTensors, Scale scale);
    }

    /// Reduce-scatter over fused tensors; see [CancellableBackend#reducescatter] and
    /// [FusedTensors#scatterStart].
    interface SupportsReducescatter extends Backend {
        void reducescatter(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor);
    }

    /// Concatenates the rows of all ranks, tensor by tensor.
    interface SupportsAllgather extends Backend {
        /// Gathers all tensors.
        ///
        /// @param outputs with the rows of all ranks, by rank; one per input
        /// @param rows the rows of each rank and tensor: `rows[rank][tensor]`
        void allgather(List<Tensor> inputs, List<Tensor> outputs, long[][] rows);
    }

    interface SupportsBroadcast extends Backend {
        void broadcast(Tensor tensor, int rootRank);
    }

    interface SupportsAlltoall extends Backend {
        /// Sends rows to every rank.
        ///
        /// @param input with the rows for all ranks, by rank
        /// @param output for the rows from all ranks, by rank
        /// @param rows how many each rank sends to each: `rows[sender][receiver]`
        void alltoall(Tensor input, Tensor output, long[][] rows);
    }
}
