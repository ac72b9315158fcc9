package org.horovod4j.spi;

import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Tensor;

import java.util.List;

/// Launches collectives on the tensors of one device, for one process set.
///
/// A backend implements those of the nested interfaces that it can keep; core asks the next backend
/// for the others. Each method launches its work on [DeviceContext#stream] and returns, usually before
/// that work is complete. Core has let the stream wait for the inputs, and records an event after the
/// call. A method that waited for the stream would wait for the program's own computation.
///
/// A launch cannot be cancelled. So core lets all ranks meet on the host before it calls a method:
/// every rank calls it, with the same arguments except addresses and row counts, in the same order.
/// Until they have met, ranks can cancel a batch together, and the backend does not notice.
///
/// One thread at a time calls the collectives and [#close]. Other threads may call [#check] and
/// [#abort] meanwhile.
public interface DeviceBackend extends AutoCloseable {
    /// Throws if work that was launched has failed: an asynchronous error. Called every few
    /// milliseconds while an operation is incomplete.
    ///
    /// @throws org.horovod4j.HorovodException the error, in the words of the library
    void check();

    /// Ends all work that was launched, complete or not, because a rank is lost (`ncclCommAbort`). The
    /// stream must not wait for other ranks afterwards. Later collectives throw. Returns soon.
    void abort();

    /// Frees what the backend holds. Its work is complete, or [#abort] was called.
    @Override
    void close();

    /// Allreduce over fused tensors; see [Backend#allreduce]. Scaling and averages are the backend's
    /// work. It sends elements as [FusedTensors#wireType].
    interface SupportsAllreduce extends DeviceBackend {
        void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor);
    }

    /// Adasum over fused tensors, each combined separately; see [Backend#adasum].
    interface SupportsAdasum extends DeviceBackend {
        void adasum(FusedTensors fusedTensors, Scale scale);
    }

    /// Reduce-scatter over fused tensors; see [Backend#reducescatter] and
    /// [FusedTensors#scatterStart].
    interface SupportsReducescatter extends DeviceBackend {
        void reducescatter(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor);
    }

    /// Concatenates the rows of all ranks, tensor by tensor.
    interface SupportsAllgather extends DeviceBackend {
        /// Gathers all tensors.
        ///
        /// @param outputs with the rows of all ranks, by rank; one per input
        /// @param rows the rows of each rank and tensor: `rows[rank][tensor]`
        void allgather(List<Tensor> inputs, List<Tensor> outputs, long[][] rows);
    }

    interface SupportsBroadcast extends DeviceBackend {
        void broadcast(Tensor tensor, int rootRank);
    }

    interface SupportsAlltoall extends DeviceBackend {
        /// Sends rows to every rank.
        ///
        /// @param splits the number of rows of `input` for each rank
        /// @param output for the rows of all ranks, by rank
        /// @param receivedSplits the number of rows of `output` from each rank
        void alltoall(Tensor input, int[] splits, Tensor output, int[] receivedSplits);
    }
}
