package org.horovod4j.runtime.dispatch;

import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.FusedTensors;

import java.util.ArrayList;
import java.util.List;

/// Runs a batch on the backend, or on that of the device where its tensors are.
///
/// A rank that has joined has no entries: it contributes tensors that do not change the result, and
/// drops what it receives.
public final class Dispatcher {
    private final CancellableBackend backend;
    private final int rank;
    private final List<Integer> jobRanks;
    private final DeviceDispatcher deviceDispatcher;

    /// @param deviceDispatcher runs batches of tensors on a device
    /// @param rank this rank in the process set
    /// @param jobRanks the ranks of the process set, as job ranks
    public Dispatcher(
            CancellableBackend backend,
            DeviceDispatcher deviceDispatcher,
            int rank,
            List<Integer> jobRanks) {
        this.backend = backend;
        this.deviceDispatcher = deviceDispatcher;
        this.rank = rank;
        this.jobRanks = List.copyOf(jobRanks);
    }

    /// Runs `batch` and sets the results of its entries.
    ///
    /// @param stamp identifies the batch; the same on all ranks
    /// @param divisor the divisor of an average
    public void run(Batch batch, long stamp, int divisor) {
        if (!batch.first().device().isHost()) {
            deviceDispatcher.run(batch, stamp, divisor);
            return;
        }
        switch (batch.first().collectiveKind()) {
            case ALLREDUCE -> allreduce(batch, stamp, divisor);
            case REDUCESCATTER -> reducescatter(batch, stamp, divisor);
            case ALLGATHER -> allgather(batch, stamp);
            case BROADCAST -> broadcast(batch, stamp);
            case ALLTOALL -> alltoall(batch, stamp);
            case BARRIER -> {
                backend.barrier(stamp);
                batch.result(0, true);
            }
        }
    }

    private void allreduce(Batch batch, long stamp, int divisor) {
        FusedTensors fusedTensors = fusedTensors(batch);
        for (int i = 0; i < batch.size(); i++) {
            TensorEntry<?> tensorEntry = batch.entry(i);
            if (tensorEntry == null) {
                Tensor nothing = neutral(batch.requests().get(i));
                fusedTensors.set(i, nothing.segment(), nothing.segment());
            } else {
                Operation.Allreduce operation = (Operation.Allreduce) tensorEntry.operation();
                fusedTensors.set(i, operation.input().segment(), operation.output().segment());
                batch.result(i, operation.output());
            }
        }
        Request request = batch.first();
        if (request.op() == ReduceOp.ADASUM) {
            backend.adasum(stamp, fusedTensors, request.scale());
        } else {
            backend.allreduce(stamp, fusedTensors, request.op(), request.scale(), divisor);
        }
    }

    /// The fused tensors of the batch, created when it runs for the first time.
    private FusedTensors fusedTensors(Batch batch) {
        FusedTensors fusedTensors = batch.fusedTensors();
        if (fusedTensors == null) {
            long[] counts =
                    batch.requests().stream()
                            .mapToLong(request -> request.shape().elementCount())
                            .toArray();
            fusedTensors = new FusedTensors(batch.first().dataType(), counts);
            batch.setFusedTensors(fusedTensors);
        }
        return fusedTensors;
    }

    private void reducescatter(Batch batch, long stamp, int divisor) {
        FusedTensors fusedTensors = scatteredTensors(batch);
        for (int i = 0; i < batch.size(); i++) {
            Request request = batch.requests().get(i);
            TensorEntry<?> tensorEntry = batch.entry(i);
            Tensor input =
                    tensorEntry == null
                            ? neutral(request)
                            : ((Operation.Reducescatter) tensorEntry.operation()).tensor();
            long all = request.shape().dimension(0);
            int size = jobRanks.size();
            long rows =
                    FusedTensors.firstRow(all, rank + 1, size)
                            - FusedTensors.firstRow(all, rank, size);
            Tensor output = Tensor.zeros(request.dataType(), request.shape().withRows(rows));
            fusedTensors.set(i, input.segment(), output.segment());
            batch.result(i, output);
        }
        Request request = batch.first();
        backend.reducescatter(stamp, fusedTensors, request.op(), request.scale(), divisor);
    }

    private FusedTensors scatteredTensors(Batch batch) {
        FusedTensors fusedTensors = batch.fusedTensors();
        if (fusedTensors == null) {
            List<Shape> shapes = batch.requests().stream().map(Request::shape).toList();
            fusedTensors =
                    FusedTensors.forReducescatter(
                            batch.first().dataType(), shapes, rank, jobRanks.size());
            batch.setFusedTensors(fusedTensors);
        }
        return fusedTensors;
    }

    private void allgather(Batch batch, long stamp) {
        List<Tensor> tensors = new ArrayList<>(batch.size());
        for (int i = 0; i < batch.size(); i++) {
            TensorEntry<?> tensorEntry = batch.entry(i);
            tensors.add(
                    tensorEntry == null
                            ? noRows(batch.requests().get(i))
                            : ((Operation.Allgather) tensorEntry.operation()).tensor());
        }
        List<Tensor> gathered = backend.allgather(stamp, tensors);
        for (int i = 0; i < batch.size(); i++) {
            batch.result(i, gathered.get(i));
        }
    }

    private void broadcast(Batch batch, long stamp) {
        Request request = batch.first();
        TensorEntry<?> tensorEntry = batch.entry(0);
        Tensor tensor =
                tensorEntry == null
                        ? neutral(request)
                        : ((Operation.Broadcast) tensorEntry.operation()).tensor();
        backend.broadcast(stamp, tensor, request.rootRank());
        batch.result(0, tensor);
    }

    private void alltoall(Batch batch, long stamp) {
        TensorEntry<?> tensorEntry = batch.entry(0);
        if (tensorEntry == null) {
            Tensor nothing = noRows(batch.first());
            batch.result(0, backend.alltoall(stamp, nothing, new int[jobRanks.size()]));
        } else {
            Operation.Alltoall operation = (Operation.Alltoall) tensorEntry.operation();
            batch.result(0, backend.alltoall(stamp, operation.tensor(), operation.splits()));
        }
    }

    private static Tensor neutral(Request request) {
        return NeutralTensors.of(request.dataType(), request.shape(), request.op());
    }

    private static Tensor noRows(Request request) {
        return Tensor.zeros(request.dataType(), request.shape().withRows(0));
    }
}
