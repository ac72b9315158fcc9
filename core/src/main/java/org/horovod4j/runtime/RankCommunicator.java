package org.horovod4j.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.Received;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.option.Place;
import org.horovod4j.runtime.controller.Controller;
import org.horovod4j.runtime.controller.Controller.Operation;
import org.horovod4j.runtime.cycle.OperationQueue;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.Request.Kind;
import org.horovod4j.transport.Topology;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.stream.IntStream;

/// Turns a user's calls into requests, after checking what one rank can check alone.
final class RankCommunicator implements Communicator {
    private static final Set<ReduceOp> SCATTERABLE = Set.of(ReduceOp.AVERAGE, ReduceOp.SUM);

    private final Topology topology;
    private final int size;
    private final Place local;
    private final Place cross;
    private final OperationQueue queue;
    private final Controller controller;
    private final Lifecycle lifecycle;
    private final Objects objects = new Objects(this);

    RankCommunicator(
            Topology topology,
            Place local,
            Place cross,
            OperationQueue queue,
            Controller controller,
            Lifecycle lifecycle) {
        this.topology = topology;
        this.local = local;
        this.cross = cross;
        this.size = topology.size();
        this.queue = queue;
        this.controller = controller;
        this.lifecycle = lifecycle;
    }

    @Override
    public int rank() {
        return topology.rank();
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public int localRank() {
        return local.rank();
    }

    @Override
    public int localSize() {
        return local.size();
    }

    @Override
    public int crossRank() {
        return cross.rank();
    }

    @Override
    public int crossSize() {
        return cross.size();
    }

    @Override
    public boolean isHomogeneous() {
        return topology.isHomogeneous();
    }

    @Override
    public Tensor allocate(DataType dataType, Shape shape) {
        return lifecycle.allocate(dataType, shape);
    }

    @Override
    public Tensor allreduce(String name, Tensor input, Tensor output, ReduceOp op, Scale scale) {
        checkReducible(name, input, op, scale);
        checkOutput(name, input, output);
        Request request = Request.reducing(Kind.ALLREDUCE, name, input, op, scale);
        return perform(request, allreduce(input, output, op, scale));
    }

    @Override
    public Handle<Tensor> allreduceAsync(
            String name, Tensor input, Tensor output, ReduceOp op, Scale scale) {
        checkReducible(name, input, op, scale);
        checkOutput(name, input, output);
        checkShared(name, input);
        checkShared(name, output);
        Request request = Request.reducing(Kind.ALLREDUCE, name, input, op, scale);
        return submit(request, allreduce(input, output, op, scale));
    }

    @Override
    public Handle<List<Tensor>> groupedAllreduceAsync(
            String name, List<Tensor> tensors, ReduceOp op, Scale scale) {
        return submitGroup(
                name,
                tensors,
                (member, tensor) -> {
                    checkReducible(member, tensor, op, scale);
                    return new Step(
                            Request.reducing(Kind.ALLREDUCE, member, tensor, op, scale),
                            allreduce(tensor, tensor, op, scale));
                });
    }

    @Override
    public Tensor allgather(String name, Tensor tensor) {
        return perform(
                gathering(name, tensor), (backend, stamp) -> backend.allgather(stamp, tensor));
    }

    @Override
    public Handle<Tensor> allgatherAsync(String name, Tensor tensor) {
        checkShared(name, tensor);
        return submit(
                gathering(name, tensor), (backend, stamp) -> backend.allgather(stamp, tensor));
    }

    @Override
    public Handle<List<Tensor>> groupedAllgatherAsync(String name, List<Tensor> tensors) {
        return submitGroup(
                name,
                tensors,
                (member, tensor) ->
                        new Step(
                                gathering(member, tensor),
                                (backend, stamp) -> backend.allgather(stamp, tensor)));
    }

    @Override
    public Tensor broadcast(String name, Tensor tensor, int rootRank) {
        checkRoot(name, rootRank);
        return perform(Request.broadcast(name, tensor, rootRank), broadcast(tensor, rootRank));
    }

    @Override
    public Handle<Tensor> broadcastAsync(String name, Tensor tensor, int rootRank) {
        checkRoot(name, rootRank);
        checkShared(name, tensor);
        return submit(Request.broadcast(name, tensor, rootRank), broadcast(tensor, rootRank));
    }

    @Override
    public Received alltoall(String name, Tensor tensor, int @Nullable [] splits) {
        int[] rows = rows(name, tensor, splits);
        return perform(
                Request.moving(Kind.ALLTOALL, name, tensor),
                (backend, stamp) -> backend.alltoall(stamp, tensor, rows));
    }

    @Override
    public Handle<Received> alltoallAsync(String name, Tensor tensor, int @Nullable [] splits) {
        int[] rows = rows(name, tensor, splits);
        checkShared(name, tensor);
        return submit(
                Request.moving(Kind.ALLTOALL, name, tensor),
                (backend, stamp) -> backend.alltoall(stamp, tensor, rows));
    }

    @Override
    public Tensor reducescatter(String name, Tensor tensor, ReduceOp op, Scale scale) {
        return perform(scattering(name, tensor, op, scale), reducescatter(tensor, op, scale));
    }

    @Override
    public Handle<Tensor> reducescatterAsync(String name, Tensor tensor, ReduceOp op, Scale scale) {
        checkShared(name, tensor);
        return submit(scattering(name, tensor, op, scale), reducescatter(tensor, op, scale));
    }

    @Override
    public Handle<List<Tensor>> groupedReducescatterAsync(
            String name, List<Tensor> tensors, ReduceOp op, Scale scale) {
        return submitGroup(
                name,
                tensors,
                (member, tensor) ->
                        new Step(
                                scattering(member, tensor, op, scale),
                                reducescatter(tensor, op, scale)));
    }

    @Override
    public void barrier() {
        Boolean _ =
                perform(
                        Request.barrier(),
                        (backend, stamp) -> {
                            backend.barrier(stamp);
                            return true;
                        });
    }

    @Override
    public <T extends @Nullable Object> T broadcastObject(String name, T object, int rootRank) {
        checkRoot(name, rootRank);
        return objects.broadcast(name, object, rootRank);
    }

    @Override
    public <T extends @Nullable Object> List<T> allgatherObject(String name, T object) {
        return objects.allgather(name, object);
    }

    @Override
    public void close() {
        lifecycle.close();
    }

    private <T> T perform(Request request, Operation<T> operation) {
        return queue.run(request.name(), () -> controller.perform(request, operation));
    }

    private <T> Handle<T> submit(Request request, Operation<T> operation) {
        return queue.submit(List.of(request.name()), () -> controller.perform(request, operation));
    }

    /// Submits one step for each tensor, under `name_iofn` as Horovod calls them.
    private Handle<List<Tensor>> submitGroup(
            String name, List<Tensor> tensors, BiFunction<String, Tensor, Step> step) {
        int count = tensors.size();
        List<String> names =
                IntStream.range(0, count)
                        .mapToObj(i -> "%s_%dof%d".formatted(name, i + 1, count))
                        .toList();
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            checkShared(names.get(i), tensors.get(i));
            steps.add(step.apply(names.get(i), tensors.get(i)));
        }
        return queue.submit(
                names,
                () ->
                        steps.stream()
                                .map(each -> controller.perform(each.request, each.operation))
                                .toList());
    }

    private record Step(Request request, Operation<Tensor> operation) {}

    private static Operation<Tensor> allreduce(
            Tensor input, Tensor output, ReduceOp op, Scale scale) {
        return (backend, stamp) -> {
            backend.allreduce(stamp, input, output, op, scale);
            return output;
        };
    }

    private static Operation<Tensor> broadcast(Tensor tensor, int rootRank) {
        return (backend, stamp) -> {
            backend.broadcast(stamp, tensor, rootRank);
            return tensor;
        };
    }

    private static Operation<Tensor> reducescatter(Tensor tensor, ReduceOp op, Scale scale) {
        return (backend, stamp) -> backend.reducescatter(stamp, tensor, op, scale);
    }

    private static Request gathering(String name, Tensor tensor) {
        checkNotScalar(Kind.ALLGATHER, name, tensor);
        return Request.moving(Kind.ALLGATHER, name, tensor);
    }

    private static Request scattering(String name, Tensor tensor, ReduceOp op, Scale scale) {
        checkNotScalar(Kind.REDUCESCATTER, name, tensor);
        if (!SCATTERABLE.contains(op)) {
            throw new IllegalArgumentException(
                    "reducescatter of '%s': the reduce op is AVERAGE or SUM, not %s"
                            .formatted(name, op));
        }
        checkReducible(name, tensor, op, scale);
        return Request.reducing(Kind.REDUCESCATTER, name, tensor, op, scale);
    }

    /// The rows for each rank: those given, checked, or equal shares.
    private int[] rows(String name, Tensor tensor, int @Nullable [] splits) {
        checkNotScalar(Kind.ALLTOALL, name, tensor);
        long rows = tensor.shape().dimension(0);
        if (splits == null) {
            if (rows % size != 0) {
                throw new IllegalArgumentException(
                        """
                        alltoall of '%s': its %d rows cannot be shared out equally to %d ranks
                        Give splits that say how many rows each rank gets."""
                                .formatted(name, rows, size));
            }
            if (rows / size > Integer.MAX_VALUE) {
                throw new IllegalArgumentException(
                        "alltoall of '%s': %d rows for each rank are too many; reshape it to longer rows"
                                .formatted(name, rows / size));
            }
            return IntStream.generate(() -> (int) (rows / size)).limit(size).toArray();
        }
        if (splits.length != size) {
            throw new IllegalArgumentException(
                    "alltoall of '%s': %d splits given for %d ranks"
                            .formatted(name, splits.length, size));
        }
        long sum = 0;
        for (int split : splits) {
            if (split < 0) {
                throw new IllegalArgumentException(
                        "alltoall of '%s': a split is not negative: %d".formatted(name, split));
            }
            sum += split;
        }
        if (sum > rows) {
            throw new IllegalArgumentException(
                    "alltoall of '%s': the splits ask for %d rows, but it has %d"
                            .formatted(name, sum, rows));
        }
        return splits.clone();
    }

    private void checkRoot(String name, int rootRank) {
        if (rootRank < 0 || rootRank >= size) {
            throw new IllegalArgumentException(
                    "broadcast of '%s': there is no root rank %d, ranks go from 0 to %d"
                            .formatted(name, rootRank, size - 1));
        }
    }

    private static void checkNotScalar(Kind kind, String name, Tensor tensor) {
        if (tensor.shape().rank() == 0) {
            throw new IllegalArgumentException(
                    "%s of '%s': it needs a first dimension, a scalar has none: reshape it to [1]"
                            .formatted(kind, name));
        }
    }

    private static void checkReducible(String name, Tensor tensor, ReduceOp op, Scale scale) {
        if (tensor.dataType() == DataType.BOOL
                && (op == ReduceOp.AVERAGE
                        || scale.prescale() != 1.0
                        || scale.postscale() != 1.0)) {
            throw new IllegalArgumentException(
                    "'%s': a bool tensor has no average and cannot be scaled; convert it to a number type"
                            .formatted(name));
        }
    }

    private static void checkOutput(String name, Tensor input, Tensor output) {
        if (input == output) {
            return;
        }
        if (input.dataType() != output.dataType() || !input.shape().equals(output.shape())) {
            throw new IllegalArgumentException(
                    "allreduce of '%s': input is %s, but output %s".formatted(name, input, output));
        }
        if (!input.segment().equals(output.segment())
                && input.segment().asOverlappingSlice(output.segment()).isPresent()) {
            throw new IllegalArgumentException(
                    "allreduce of '%s': input and output overlap; let them be the same or apart"
                            .formatted(name));
        }
    }

    /// Asynchronous operations run on another thread, which must be allowed to touch the memory.
    private static void checkShared(String name, Tensor tensor) {
        if (!tensor.segment().isAccessibleBy(OTHER_THREAD)) {
            throw new IllegalArgumentException(
                    """
                    '%s' lies in a confined arena, which only the thread that opened it may use
                    Allocate it in a shared or automatic arena, or use a synchronous call for one tensor."""
                            .formatted(name));
        }
    }

    private static final Thread OTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});
}
