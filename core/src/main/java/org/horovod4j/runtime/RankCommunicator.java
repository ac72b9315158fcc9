package org.horovod4j.runtime;

import org.horovod4j.AllOf;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.option.FrameworkSettings;
import org.horovod4j.runtime.cycle.CycleAgent;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.sparse.SparseAllreduce;
import org.horovod4j.spi.Backend;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;

/// Turns a user's calls into requests, after checking what one rank can check alone.
final class RankCommunicator implements Communicator, FrameworkSettings.Source {
    private static final Set<ReduceOp> SCATTERABLE = Set.of(ReduceOp.AVERAGE, ReduceOp.SUM);

    private final RankSet set;
    private final int size;
    private final RankPlacement placement;
    private final CycleAgent agent;
    private final Backend backend;
    private final ProcessSet processSet;
    private final RankContext context;
    private final ObjectCollectives objectCollectives;
    private final GroupNames groupNames = new GroupNames();

    /// @param rankPlacement of this rank among hosts
    /// @param context what it shares with the communicators of other process sets
    RankCommunicator(
            RankSet set,
            ProcessSetRuntime runtime,
            ProcessSet processSet,
            RankPlacement rankPlacement,
            RankContext context) {
        this.set = set;
        this.size = set.size();
        this.placement = rankPlacement;
        this.agent = runtime.agent();
        this.backend = runtime.backend();
        this.processSet = processSet;
        this.context = context;
        this.objectCollectives = new ObjectCollectives(this, set);
    }

    @Override
    public int rank() {
        return set.rank();
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public int localRank() {
        return placement.local().rank();
    }

    @Override
    public int localSize() {
        return placement.local().size();
    }

    @Override
    public int crossRank() {
        return placement.cross().rank();
    }

    @Override
    public int crossSize() {
        return placement.cross().size();
    }

    @Override
    public boolean isHomogeneous() {
        return placement.isHomogeneous();
    }

    @Override
    public FrameworkSettings frameworkSettings() {
        return context.frameworkSettings();
    }

    @Override
    public Tensor allocate(DataType dataType, Shape shape) {
        context.checkOpen();
        return backend.allocate(dataType, shape);
    }

    @Override
    public Tensor allreduce(String name, Tensor input, Tensor output, ReduceOp op, Scale scale) {
        checkOutput(name, input, output);
        Tensor in = shareable(input);
        Tensor out = input == output ? in : shareable(output);
        Tensor _ = agent.perform(allreduceRequest(name, in, out, op, scale), allreduce(in, out));
        return copyBack(out, output);
    }

    @Override
    public Handle<Tensor> allreduceAsync(
            String name, Tensor input, Tensor output, ReduceOp op, Scale scale) {
        checkOutput(name, input, output);
        checkShareable(name, input);
        if (input != output) {
            checkShareable(name, output);
        }
        return agent.submit(
                allreduceRequest(name, input, output, op, scale), allreduce(input, output));
    }

    @Override
    public Handle<List<Tensor>> groupedAllreduceAsync(
            String name, List<Tensor> tensors, ReduceOp op, Scale scale) {
        return submitGroup(
                name,
                tensors,
                (member, tensor) -> allreduceRequest(member, tensor, tensor, op, scale),
                tensor -> allreduce(tensor, tensor));
    }

    @Override
    public Handle<SparseResult> sparseAllreduceAsync(
            String name, SparseTensor tensor, ReduceOp op) {
        return SparseAllreduce.DEFAULT.allreduceAsync(this, name, tensor, op);
    }

    @Override
    public Tensor allgather(String name, Tensor tensor) {
        return agent.perform(
                allgatherRequest(name, tensor), new Operation.Allgather(shareable(tensor)));
    }

    @Override
    public Handle<Tensor> allgatherAsync(String name, Tensor tensor) {
        checkShareable(name, tensor);
        return agent.submit(allgatherRequest(name, tensor), new Operation.Allgather(tensor));
    }

    @Override
    public Handle<List<Tensor>> groupedAllgatherAsync(String name, List<Tensor> tensors) {
        return submitGroup(
                name, tensors, RankCommunicator::allgatherRequest, Operation.Allgather::new);
    }

    @Override
    public Tensor broadcast(String name, Tensor tensor, int rootRank) {
        checkRoot(name, rootRank);
        Tensor lent = shareable(tensor);
        Tensor _ =
                agent.perform(
                        Request.broadcast(name, lent, rootRank), new Operation.Broadcast(lent));
        return copyBack(lent, tensor);
    }

    @Override
    public Handle<Tensor> broadcastAsync(String name, Tensor tensor, int rootRank) {
        checkRoot(name, rootRank);
        checkShareable(name, tensor);
        return agent.submit(
                Request.broadcast(name, tensor, rootRank), new Operation.Broadcast(tensor));
    }

    @Override
    public AlltoallResult alltoall(String name, Tensor tensor, int @Nullable [] splits) {
        int[] rows = rows(name, tensor, splits);
        return agent.perform(
                Request.forDataMovement(CollectiveKind.ALLTOALL, name, tensor),
                new Operation.Alltoall(shareable(tensor), rows));
    }

    @Override
    public Handle<AlltoallResult> alltoallAsync(
            String name, Tensor tensor, int @Nullable [] splits) {
        int[] rows = rows(name, tensor, splits);
        checkShareable(name, tensor);
        return agent.submit(
                Request.forDataMovement(CollectiveKind.ALLTOALL, name, tensor),
                new Operation.Alltoall(tensor, rows));
    }

    @Override
    public Tensor reducescatter(String name, Tensor tensor, ReduceOp op, Scale scale) {
        return agent.perform(
                reducescatterRequest(name, tensor, op, scale),
                new Operation.Reducescatter(shareable(tensor)));
    }

    @Override
    public Handle<Tensor> reducescatterAsync(String name, Tensor tensor, ReduceOp op, Scale scale) {
        checkShareable(name, tensor);
        return agent.submit(
                reducescatterRequest(name, tensor, op, scale), new Operation.Reducescatter(tensor));
    }

    @Override
    public Handle<List<Tensor>> groupedReducescatterAsync(
            String name, List<Tensor> tensors, ReduceOp op, Scale scale) {
        return submitGroup(
                name,
                tensors,
                (member, tensor) -> reducescatterRequest(member, tensor, op, scale),
                Operation.Reducescatter::new);
    }

    @Override
    public void barrier() {
        Boolean _ = agent.perform(Request.barrier(), new Operation.Barrier());
    }

    @Override
    public int join() {
        return agent.join();
    }

    @Override
    public <T extends @Nullable Object> T broadcastObject(String name, T object, int rootRank) {
        checkRoot(name, rootRank);
        return objectCollectives.broadcast(name, object, rootRank);
    }

    @Override
    public <T extends @Nullable Object> List<T> allgatherObject(String name, T object) {
        return objectCollectives.allgather(name, object);
    }

    @Override
    public ProcessSet processSet() {
        return processSet;
    }

    @Override
    public List<ProcessSet> processSets() {
        return context.processSets().all();
    }

    @Override
    public ProcessSet addProcessSet(int... ranks) {
        return context.processSets().add(List.of(Arrays.stream(ranks).boxed().toList())).getFirst();
    }

    @Override
    public boolean removeProcessSet(ProcessSet other) {
        return context.processSets().remove(other);
    }

    @Override
    public void startTimeline(Path file, boolean markCycles) {
        context.startTimeline(file, markCycles);
    }

    @Override
    public void stopTimeline() {
        context.stopTimeline();
    }

    @Override
    public String describeState() {
        return context.describeState();
    }

    @Override
    public boolean isOpen() {
        return !context.isClosed();
    }

    @Override
    public void close() {
        context.close();
    }

    /// Submits one operation for each tensor.
    private Handle<List<Tensor>> submitGroup(
            String name,
            List<Tensor> tensors,
            RequestFactory request,
            Function<Tensor, Operation<Tensor>> operation) {
        int count = tensors.size();
        List<Request> requests = new ArrayList<>(count);
        List<Operation<Tensor>> operations = new ArrayList<>(count);
        String[] names = groupNames.of(name, count);
        for (int i = 0; i < count; i++) {
            Tensor tensor = tensors.get(i);
            checkShareable(names[i], tensor);
            requests.add(request.request(names[i], tensor).inGroup(name));
            operations.add(operation.apply(tensor));
        }
        return new AllOf<>(agent.submitAll(requests, operations));
    }

    /// Makes the request for a member of a group.
    private interface RequestFactory {
        Request request(String name, Tensor tensor);
    }

    private Request allreduceRequest(
            String name, Tensor input, Tensor output, ReduceOp op, Scale scale) {
        checkReducible(name, input, op, scale);
        boolean shared = input == output && backend.isShared(input);
        return Request.forReduction(CollectiveKind.ALLREDUCE, name, input, op, scale, shared);
    }

    private static Operation<Tensor> allreduce(Tensor input, Tensor output) {
        return new Operation.Allreduce(input, output);
    }

    private static Request allgatherRequest(String name, Tensor tensor) {
        checkNotScalar(CollectiveKind.ALLGATHER, name, tensor);
        return Request.forDataMovement(CollectiveKind.ALLGATHER, name, tensor);
    }

    private static Request reducescatterRequest(
            String name, Tensor tensor, ReduceOp op, Scale scale) {
        checkNotScalar(CollectiveKind.REDUCESCATTER, name, tensor);
        if (!SCATTERABLE.contains(op)) {
            throw new IllegalArgumentException(
                    "reducescatter of '%s': the reduce op is AVERAGE or SUM, not %s"
                            .formatted(name, op));
        }
        checkReducible(name, tensor, op, scale);
        return Request.forReduction(CollectiveKind.REDUCESCATTER, name, tensor, op, scale, false);
    }

    /// A tensor that any thread may use: a copy, when only the caller's may.
    private static Tensor shareable(Tensor tensor) {
        return isShareable(tensor) ? tensor : tensor.copy();
    }

    /// Brings the result home when the operation worked on a copy.
    private static Tensor copyBack(Tensor lent, Tensor tensor) {
        if (lent != tensor) {
            tensor.segment().copyFrom(lent.segment());
        }
        return tensor;
    }

    /// The rows for each rank: those given, checked, or equal shares.
    private int[] rows(String name, Tensor tensor, int @Nullable [] splits) {
        checkNotScalar(CollectiveKind.ALLTOALL, name, tensor);
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
        if (!set.ranks().contains(rootRank)) {
            throw new IllegalArgumentException(
                    set.id() == 0
                            ? "broadcast of '%s': there is no root rank %d, ranks go from 0 to %d"
                                    .formatted(name, rootRank, size - 1)
                            : "broadcast of '%s': root rank %d is not in %s; a root is a rank of the job"
                                    .formatted(name, rootRank, processSet));
        }
    }

    private static void checkNotScalar(CollectiveKind collectiveKind, String name, Tensor tensor) {
        if (tensor.shape().rank() == 0) {
            throw new IllegalArgumentException(
                    "%s of '%s': it needs a first dimension, a scalar has none: reshape it to [1]"
                            .formatted(collectiveKind, name));
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
        if (op == ReduceOp.ADASUM && !tensor.dataType().isFloatingPoint()) {
            throw new IllegalArgumentException(
                    "'%s': Adasum is for floating-point types, not %s"
                            .formatted(name, tensor.dataType()));
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
    private static void checkShareable(String name, Tensor tensor) {
        if (!isShareable(tensor)) {
            throw new IllegalArgumentException(
                    """
                    '%s' lies in a confined arena, which only the thread that opened it may use
                    Allocate it in a shared or automatic arena, or use a synchronous call for one tensor."""
                            .formatted(name));
        }
    }

    private static boolean isShareable(Tensor tensor) {
        return tensor.segment().isAccessibleBy(OTHER_THREAD);
    }

    private static final Thread OTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});
}
