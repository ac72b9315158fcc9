package org.horovod4j.runtime;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.kernel.Kernels;
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
import java.util.function.Function;
import java.util.stream.IntStream;

/// Checks a program's calls as far as one rank can check them alone, and turns them into requests.
final class RankCommunicator implements Communicator, FrameworkSettings.Source {
    private final RankSet set;
    private final int rank;
    private final int size;
    private final RankContext.Placement placement;
    private final CycleAgent agent;
    private final Backend backend;
    private final Kernels kernels;
    private final ProcessSet processSet;
    private final Rank worldRank;
    private final ObjectCollectives objectCollectives;
    private final GroupNames groupNames = new GroupNames();
    private volatile boolean isViewClosed;

    /// @param worldRank this rank in the job; the communicators of all its process sets share it
    RankCommunicator(
            RankSet set, ProcessSetRuntime runtime, ProcessSet processSet, Rank worldRank) {
        this.set = set;
        this.rank = set.rank();
        this.size = set.size();
        this.kernels = worldRank.context().kernels();
        this.placement = worldRank.context().placement();
        this.agent = runtime.agent();
        this.backend = runtime.backend();
        this.processSet = processSet;
        this.worldRank = worldRank;
        this.objectCollectives = new ObjectCollectives(this, set);
    }

    @Override
    public int rank() {
        checkView();
        return rank;
    }

    @Override
    public int size() {
        checkView();
        return size;
    }

    @Override
    public int localRank() {
        checkView();
        return placement.local().rank();
    }

    @Override
    public int localSize() {
        checkView();
        return placement.local().size();
    }

    @Override
    public int crossRank() {
        checkView();
        return placement.cross().rank();
    }

    @Override
    public int crossSize() {
        checkView();
        return placement.cross().size();
    }

    @Override
    public boolean isHomogeneous() {
        checkView();
        return placement.isHomogeneous();
    }

    @Override
    public FrameworkSettings frameworkSettings() {
        return worldRank.context().settings().framework();
    }

    @Override
    public Tensor allocate(DataType dataType, Shape shape) {
        checkView();
        worldRank.checkOpen();
        return backend.allocate(dataType, shape);
    }

    @Override
    public Tensor allreduce(String name, Tensor input, Tensor output, AllreduceOptions options) {
        checkView();
        if (options.processSet().isPresent() || options.compressor().isPresent()) {
            return allreduceAsync(name, input, output, options).join();
        }
        checkOutput(name, input, output);
        Tensor in = shareable(input);
        Tensor out = input == output ? in : shareable(output);
        Tensor _ =
                agent.perform(
                        allreduceRequest(name, in, out, options.op(), options.scale()),
                        allreduce(in, out));
        return copyBack(out, output);
    }

    @Override
    public Handle<Tensor> allreduceAsync(
            String name, Tensor input, Tensor output, AllreduceOptions options) {
        checkView();
        if (options.processSet().isPresent()) {
            return options.processSet()
                    .get()
                    .communicator()
                    .allreduceAsync(name, input, output, options.withoutProcessSet());
        }
        checkOutput(name, input, output);
        checkShareable(name, input);
        if (input != output) {
            checkShareable(name, output);
        }
        if (options.compressor().isPresent()) {
            return allreduceCompressed(name, input, output, options.compressor().get(), options);
        }
        return agent.submit(
                allreduceRequest(name, input, output, options.op(), options.scale()),
                allreduce(input, output));
    }

    /// Applies the prescale before compression and the postscale after decompression: the
    /// compressed type may have too few bits for scaled values.
    private Handle<Tensor> allreduceCompressed(
            String name,
            Tensor input,
            Tensor output,
            Compressor compressor,
            AllreduceOptions options) {
        Scale scale = options.scale();
        checkReducible(name, input, options.op(), scale);
        Tensor sent =
                input == output && scale.prescale() == 1.0
                        ? input
                        : scaledCopy(input, scale.prescale());
        return compressor
                .allreduceAsync(this, name, sent, options.op())
                .thenApply(
                        reduced ->
                                copyBack(
                                        scale.postscale() == 1.0
                                                ? reduced
                                                : scaledCopy(reduced, scale.postscale()),
                                        output));
    }

    /// Returns a scaled copy outside the heap, because kernels work only there.
    private Tensor scaledCopy(Tensor tensor, double factor) {
        Tensor copy = tensor.copy();
        if (factor != 1.0) {
            kernels.scale(copy.dataType(), copy.segment(), 0, copy.elementCount(), factor);
        }
        return copy;
    }

    @Override
    public Handle<List<Tensor>> groupedAllreduceAsync(
            String name, List<Tensor> tensors, AllreduceOptions options) {
        checkView();
        if (options.processSet().isPresent()) {
            return options.processSet()
                    .get()
                    .communicator()
                    .groupedAllreduceAsync(name, tensors, options.withoutProcessSet());
        }
        if (options.compressor().isPresent()) {
            String[] names = groupNames.of(name, tensors.size());
            return Handle.allOf(
                    IntStream.range(0, names.length)
                            .mapToObj(i -> allreduceAsync(names[i], tensors.get(i), options))
                            .toList());
        }
        return submitGroup(
                name,
                tensors,
                (member, tensor) ->
                        allreduceRequest(member, tensor, tensor, options.op(), options.scale()),
                tensor -> allreduce(tensor, tensor));
    }

    @Override
    public Handle<SparseResult> sparseAllreduceAsync(
            String name, SparseTensor tensor, ReduceOp op) {
        checkView();
        return SparseAllreduce.DEFAULT.allreduceAsync(this, name, tensor, op);
    }

    @Override
    public Tensor allgather(String name, Tensor tensor) {
        checkView();
        return agent.perform(
                allgatherRequest(name, tensor), new Operation.Allgather(shareable(tensor)));
    }

    @Override
    public Handle<Tensor> allgatherAsync(String name, Tensor tensor) {
        checkView();
        checkShareable(name, tensor);
        return agent.submit(allgatherRequest(name, tensor), new Operation.Allgather(tensor));
    }

    @Override
    public Handle<List<Tensor>> groupedAllgatherAsync(String name, List<Tensor> tensors) {
        checkView();
        return submitGroup(
                name, tensors, RankCommunicator::allgatherRequest, Operation.Allgather::new);
    }

    @Override
    public Tensor broadcast(String name, Tensor tensor, int rootRank) {
        checkView();
        checkRoot(name, rootRank);
        Tensor shared = shareable(tensor);
        Tensor _ =
                agent.perform(
                        Request.broadcast(name, shared, rootRank), new Operation.Broadcast(shared));
        return copyBack(shared, tensor);
    }

    @Override
    public Handle<Tensor> broadcastAsync(String name, Tensor tensor, int rootRank) {
        checkView();
        checkRoot(name, rootRank);
        checkShareable(name, tensor);
        return agent.submit(
                Request.broadcast(name, tensor, rootRank), new Operation.Broadcast(tensor));
    }

    @Override
    public AlltoallResult alltoall(String name, Tensor tensor, AlltoallOptions options) {
        checkView();
        if (options.processSet().isPresent()) {
            return alltoallAsync(name, tensor, options).join();
        }
        int[] rows = rows(name, tensor, options);
        return agent.perform(
                Request.forDataMovement(CollectiveKind.ALLTOALL, name, tensor),
                new Operation.Alltoall(shareable(tensor), rows));
    }

    @Override
    public Handle<AlltoallResult> alltoallAsync(
            String name, Tensor tensor, AlltoallOptions options) {
        checkView();
        if (options.processSet().isPresent()) {
            return options.processSet()
                    .get()
                    .communicator()
                    .alltoallAsync(name, tensor, options.withoutProcessSet());
        }
        int[] rows = rows(name, tensor, options);
        checkShareable(name, tensor);
        return agent.submit(
                Request.forDataMovement(CollectiveKind.ALLTOALL, name, tensor),
                new Operation.Alltoall(tensor, rows));
    }

    @Override
    public Tensor reducescatter(String name, Tensor tensor, ReducescatterOptions options) {
        checkView();
        if (options.processSet().isPresent()) {
            return reducescatterAsync(name, tensor, options).join();
        }
        return agent.perform(
                reducescatterRequest(name, tensor, options),
                new Operation.Reducescatter(shareable(tensor)));
    }

    @Override
    public Handle<Tensor> reducescatterAsync(
            String name, Tensor tensor, ReducescatterOptions options) {
        checkView();
        if (options.processSet().isPresent()) {
            return options.processSet()
                    .get()
                    .communicator()
                    .reducescatterAsync(name, tensor, options.withoutProcessSet());
        }
        checkShareable(name, tensor);
        return agent.submit(
                reducescatterRequest(name, tensor, options), new Operation.Reducescatter(tensor));
    }

    @Override
    public Handle<List<Tensor>> groupedReducescatterAsync(
            String name, List<Tensor> tensors, ReducescatterOptions options) {
        checkView();
        if (options.processSet().isPresent()) {
            return options.processSet()
                    .get()
                    .communicator()
                    .groupedReducescatterAsync(name, tensors, options.withoutProcessSet());
        }
        return submitGroup(
                name,
                tensors,
                (member, tensor) -> reducescatterRequest(member, tensor, options),
                Operation.Reducescatter::new);
    }

    @Override
    public void barrier() {
        checkView();
        Boolean _ = agent.perform(Request.barrier(), new Operation.Barrier());
    }

    @Override
    public int join() {
        checkView();
        return agent.join();
    }

    @Override
    public <T extends @Nullable Object> T broadcastObject(String name, T object, int rootRank) {
        checkView();
        checkRoot(name, rootRank);
        return objectCollectives.broadcast(name, object, rootRank);
    }

    @Override
    public <T extends @Nullable Object> List<T> allgatherObject(String name, T object) {
        checkView();
        return objectCollectives.allgather(name, object);
    }

    @Override
    public ProcessSet processSet() {
        checkView();
        return processSet;
    }

    @Override
    public List<ProcessSet> processSets() {
        checkView();
        return worldRank.processSets().all();
    }

    @Override
    public ProcessSet addProcessSet(int... ranks) {
        checkView();
        return worldRank
                .processSets()
                .add(List.of(Arrays.stream(ranks).boxed().toList()))
                .getFirst();
    }

    @Override
    public boolean removeProcessSet(ProcessSet other) {
        checkView();
        return worldRank.processSets().remove(other);
    }

    @Override
    public void startTimeline(Path file, boolean markCycles) {
        checkView();
        worldRank.startTimeline(file, markCycles);
    }

    @Override
    public void stopTimeline() {
        checkView();
        worldRank.stopTimeline();
    }

    @Override
    public String describeState() {
        checkView();
        return worldRank.describeState();
    }

    @Override
    public boolean isOpen() {
        return !isViewClosed && !worldRank.isClosed();
    }

    @Override
    public void shutdown() {
        checkView();
        worldRank.close();
    }

    @Override
    public void close() {
        if (set.id() == 0) {
            worldRank.close();
        } else {
            isViewClosed = true;
        }
    }

    private void checkView() {
        if (isViewClosed) {
            throw new IllegalStateException(
                    "this communicator of %s is closed: get another from ProcessSet.communicator()"
                            .formatted(processSet));
        }
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
        return Handle.allOf(agent.submitAll(requests, operations));
    }

    /// Creates the request for a member of a group.
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
            String name, Tensor tensor, ReducescatterOptions options) {
        checkNotScalar(CollectiveKind.REDUCESCATTER, name, tensor);
        checkReducible(name, tensor, options.op(), options.scale());
        return Request.forReduction(
                CollectiveKind.REDUCESCATTER, name, tensor, options.op(), options.scale(), false);
    }

    /// Returns the tensor itself if any thread may access it. Otherwise, for a tensor in a confined
    /// arena, returns a copy.
    private static Tensor shareable(Tensor tensor) {
        return isShareable(tensor) ? tensor : tensor.copy();
    }

    /// Copies the result to the caller's tensor if the operation worked on a copy.
    private static Tensor copyBack(Tensor result, Tensor tensor) {
        if (result != tensor) {
            tensor.segment().copyFrom(result.segment());
        }
        return tensor;
    }

    /// The number of rows for each rank: the splits of the options, or equal parts.
    private int[] rows(String name, Tensor tensor, AlltoallOptions options) {
        checkNotScalar(CollectiveKind.ALLTOALL, name, tensor);
        long rows = tensor.shape().dimension(0);
        if (options.splits().isEmpty()) {
            if (rows % size != 0) {
                throw new IllegalArgumentException(
                        """
                        alltoall of '%s': its %d rows cannot be divided equally among %d ranks
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
        int[] splits = options.splits().get().stream().mapToInt(Integer::intValue).toArray();
        if (splits.length != size) {
            throw new IllegalArgumentException(
                    "alltoall of '%s': %d splits given for %d ranks"
                            .formatted(name, splits.length, size));
        }
        long sum = 0;
        for (int split : splits) {
            if (split < 0) {
                throw new IllegalArgumentException(
                        "alltoall of '%s': split %d is negative".formatted(name, split));
            }
            sum += split;
        }
        if (sum > rows) {
            throw new IllegalArgumentException(
                    "alltoall of '%s': the splits ask for %d rows, but it has %d"
                            .formatted(name, sum, rows));
        }
        return splits;
    }

    private void checkRoot(String name, int rootRank) {
        if (rootRank < 0 || rootRank >= size) {
            throw new IllegalArgumentException(
                    set.id() == 0
                            ? "broadcast of '%s': there is no root rank %d, ranks go from 0 to %d"
                                    .formatted(name, rootRank, size - 1)
                            : "broadcast of '%s': there is no root rank %d in %s. A root is a rank of the process set, from 0 to %d%s"
                                    .formatted(
                                            name, rootRank, processSet, size - 1, hint(rootRank)));
        }
    }

    private String hint(int rootRank) {
        int setRank = set.ranks().indexOf(rootRank);
        return setRank < 0
                ? ""
                : "; rank %d of the job is rank %d of the set".formatted(rootRank, setRank);
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
                    "allreduce of '%s': input and output overlap: use one tensor for both, or two that do not overlap"
                            .formatted(name));
        }
    }

    /// Asynchronous operations may run on another thread, which must be able to access the memory.
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
