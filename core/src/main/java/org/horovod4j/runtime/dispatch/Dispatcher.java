package org.horovod4j.runtime.dispatch;

import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.Entry;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.Bundle;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/// Runs a batch on the backend.
///
/// A rank that has joined has no entries: it brings tensors that change nothing, and forgets what
/// it gets.
public final class Dispatcher {
    private final Backend backend;
    private final int rank;
    private final List<Integer> worldRanks;

    /// @param rank this rank in the process set
    /// @param worldRanks the ranks of the process set, as ranks of the world
    public Dispatcher(Backend backend, int rank, List<Integer> worldRanks) {
        this.backend = backend;
        this.rank = rank;
        this.worldRanks = List.copyOf(worldRanks);
    }

    /// Runs `batch` and leaves its results in it.
    ///
    /// @param divisor what an average divides by
    public void run(Batch batch, long stamp, int divisor) {
        switch (batch.first().kind()) {
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
        Bundle bundle = bundle(batch);
        for (int i = 0; i < batch.size(); i++) {
            Entry<?> entry = batch.entry(i);
            if (entry == null) {
                Tensor nothing = nothing(batch.requests().get(i));
                bundle.set(i, nothing.segment(), nothing.segment());
            } else {
                Operation.Allreduce operation = (Operation.Allreduce) entry.operation();
                bundle.set(i, operation.input().segment(), operation.output().segment());
                batch.result(i, operation.output());
            }
        }
        Request request = batch.first();
        if (request.op() == ReduceOp.ADASUM) {
            backend.adasum(stamp, bundle, request.scale());
        } else {
            backend.allreduce(stamp, bundle, request.op(), request.scale(), divisor);
        }
    }

    /// The batch's bundle, made when it runs for the first time.
    private Bundle bundle(Batch batch) {
        Bundle bundle = batch.bundle();
        if (bundle == null) {
            long[] counts =
                    batch.requests().stream()
                            .mapToLong(request -> request.shape().elementCount())
                            .toArray();
            bundle = new Bundle(batch.first().dataType(), counts);
            batch.keep(bundle);
        }
        return bundle;
    }

    private void reducescatter(Batch batch, long stamp, int divisor) {
        Bundle bundle = scattered(batch);
        for (int i = 0; i < batch.size(); i++) {
            Request request = batch.requests().get(i);
            Entry<?> entry = batch.entry(i);
            Tensor input =
                    entry == null
                            ? nothing(request)
                            : ((Operation.Reducescatter) entry.operation()).tensor();
            long all = request.shape().dimension(0);
            int size = worldRanks.size();
            long rows = Bundle.firstRow(all, rank + 1, size) - Bundle.firstRow(all, rank, size);
            Tensor output = Tensor.zeros(request.dataType(), request.shape().withRows(rows));
            bundle.set(i, input.segment(), output.segment());
            batch.result(i, output);
        }
        Request request = batch.first();
        backend.reducescatter(stamp, bundle, request.op(), request.scale(), divisor);
    }

    private Bundle scattered(Batch batch) {
        Bundle bundle = batch.bundle();
        if (bundle == null) {
            List<Shape> shapes = batch.requests().stream().map(Request::shape).toList();
            bundle = Bundle.scattered(batch.first().dataType(), shapes, rank, worldRanks.size());
            batch.keep(bundle);
        }
        return bundle;
    }

    private void allgather(Batch batch, long stamp) {
        List<Tensor> tensors = new ArrayList<>(batch.size());
        for (int i = 0; i < batch.size(); i++) {
            Entry<?> entry = batch.entry(i);
            tensors.add(
                    entry == null
                            ? noRows(batch.requests().get(i))
                            : ((Operation.Allgather) entry.operation()).tensor());
        }
        List<Tensor> gathered = backend.allgather(stamp, tensors);
        for (int i = 0; i < batch.size(); i++) {
            batch.result(i, gathered.get(i));
        }
    }

    private void broadcast(Batch batch, long stamp) {
        Request request = batch.first();
        Entry<?> entry = batch.entry(0);
        Tensor tensor =
                entry == null
                        ? nothing(request)
                        : ((Operation.Broadcast) entry.operation()).tensor();
        backend.broadcast(stamp, tensor, worldRanks.indexOf(request.rootRank()));
        batch.result(0, tensor);
    }

    private void alltoall(Batch batch, long stamp) {
        Entry<?> entry = batch.entry(0);
        if (entry == null) {
            Tensor nothing = noRows(batch.first());
            batch.result(0, backend.alltoall(stamp, nothing, new int[worldRanks.size()]));
        } else {
            Operation.Alltoall operation = (Operation.Alltoall) entry.operation();
            batch.result(0, backend.alltoall(stamp, operation.tensor(), operation.splits()));
        }
    }

    private static Tensor nothing(Request request) {
        return Neutral.of(request.dataType(), request.shape(), request.op());
    }

    private static Tensor noRows(Request request) {
        return Tensor.zeros(request.dataType(), request.shape().withRows(0));
    }

    /// Ends an entry with its result.
    @SuppressWarnings({"unchecked", "NullAway"}) // the operation's kind says what its entry's T is
    public static void complete(Entry<?> entry, @Nullable Object result) {
        ((Entry<Object>) entry).complete(result);
    }
}
