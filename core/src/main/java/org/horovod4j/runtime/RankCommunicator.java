package org.horovod4j.runtime;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
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
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.CompositeCall;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceWork;
import org.horovod4j.spi.JoinCounter;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;

/// Checks a program's calls as far as one rank can check them alone ([ArgumentChecks]), and submits
/// them as requests.
final class RankCommunicator
        implements Communicator,
                FrameworkSettings.Source,
                CompositeCall.Marker,
                JoinCounter,
                DeviceWork {
    private final RankSet set;
    private final int rank;
    private final int size;
    private final RankContext.Placement placement;
    private final CycleAgent agent;
    private final CancellableBackend backend;
    private final Kernels kernels;
    private final ProcessSet processSet;
    private final Rank rankRuntime;
    private final ArgumentChecks checks;
    private final ObjectCollectives objectCollectives;
    private final GroupNames groupNames;

    /// The call that all operations of this communicator are parts of; [CompositeCall#NONE] for the
    /// communicator that the program has.
    private final CompositeCall call;

    /// The communicator that the program has: this one, or the one that [#within] was called on.
    private final RankCommunicator origin;

    private volatile boolean isClosed;

    /// @param rankRuntime of this process; the communicators of all its process sets share it
    RankCommunicator(
            RankSet set, ProcessSetRuntime runtime, ProcessSet processSet, Rank rankRuntime) {
        this.set = set;
        this.rank = set.rank();
        this.size = set.size();
        this.kernels = rankRuntime.context().kernels();
        this.placement = rankRuntime.context().placement();
        this.agent = runtime.agent();
        this.backend = runtime.backend();
        this.processSet = processSet;
        this.rankRuntime = rankRuntime;
        this.checks = new ArgumentChecks(set, processSet);
        this.objectCollectives = new ObjectCollectives(this, set);
        this.groupNames = new GroupNames();
        this.call = CompositeCall.NONE;
        this.origin = this;
    }

    private RankCommunicator(RankCommunicator origin, CompositeCall call) {
        this.set = origin.set;
        this.rank = origin.rank;
        this.size = origin.size;
        this.kernels = origin.kernels;
        this.placement = origin.placement;
        this.agent = origin.agent;
        this.backend = origin.backend;
        this.processSet = origin.processSet;
        this.rankRuntime = origin.rankRuntime;
        this.checks = origin.checks;
        this.objectCollectives = new ObjectCollectives(this, set);
        this.groupNames = origin.groupNames;
        this.call = call;
        this.origin = origin;
    }

    @Override
    public RankCommunicator within(CompositeCall other) {
        return origin == this ? new RankCommunicator(this, other) : this;
    }

    @Override
    public int rank() {
        return open().rank;
    }

    @Override
    public int size() {
        return open().size;
    }

    @Override
    public int localRank() {
        return open().placement.local().rank();
    }

    @Override
    public int localSize() {
        return open().placement.local().size();
    }

    @Override
    public int crossRank() {
        return open().placement.cross().rank();
    }

    @Override
    public int crossSize() {
        return open().placement.cross().size();
    }

    @Override
    public boolean isHomogeneous() {
        return open().placement.isHomogeneous();
    }

    @Override
    public FrameworkSettings frameworkSettings() {
        return rankRuntime.context().settings().framework();
    }

    @Override
    public Tensor allocate(DataType dataType, Shape shape) {
        open().rankRuntime.checkOpen();
        return backend.allocate(dataType, shape);
    }

    @Override
    public Tensor allocate(Device device, DataType dataType, Shape shape) {
        if (device.isHost()) {
            return allocate(dataType, shape);
        }
        open().rankRuntime.checkOpen();
        return rankRuntime.devices().allocate(device, dataType, shape);
    }

    @Override
    public void copy(Tensor source, Tensor target) {
        open().rankRuntime.checkOpen();
        rankRuntime.devices().copy(source, target);
    }

    @Override
    public Tensor allreduce(String name, Tensor input, Tensor output, AllreduceOptions options) {
        Communicator target = target(options.processSet());
        if (target != this) {
            return target.allreduce(name, input, output, options.withoutProcessSet());
        }
        ArgumentChecks.checkOutput(name, input, output);
        Tensor in = unconfined(input);
        Tensor out = input == output ? in : unconfined(output);
        Tensor _ =
                options.compressor().isPresent()
                        ? allreduceCompressed(name, in, out, options.compressor().get(), options)
                                .join()
                        : agent.perform(
                                allreduceRequest(name, in, out, options.op(), options.scale()),
                                allreduce(in, out));
        return copyBack(out, output);
    }

    @Override
    public Handle<Tensor> allreduceAsync(
            String name, Tensor input, Tensor output, AllreduceOptions options) {
        Communicator target = target(options.processSet());
        if (target != this) {
            return target.allreduceAsync(name, input, output, options.withoutProcessSet());
        }
        ArgumentChecks.checkOutput(name, input, output);
        ArgumentChecks.checkNotConfined(name, input);
        if (input != output) {
            ArgumentChecks.checkNotConfined(name, output);
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
        ArgumentChecks.checkReducible(CollectiveKind.ALLREDUCE, name, input, options.op(), scale);
        if (!input.device().isHost()) {
            return compressor.worksOnDevices()
                    ? allreduceByCompressor(name, input, output, compressor, options)
                    : agent.submit(
                            compressedOnDevice(name, input, output, compressor, options),
                            allreduce(input, output));
        }
        Tensor sent =
                input == output && scale.prescale() == 1.0
                        ? input
                        : scaledCopy(input, scale.prescale());
        Communicator parts = CompositeCall.mark(this, name, "compressed allreduce");
        return compressor
                .allreduceAsync(parts, name, sent, options.op())
                .thenApply(
                        reduced ->
                                copyBack(
                                        scale.postscale() == 1.0
                                                ? reduced
                                                : scaledCopy(reduced, scale.postscale()),
                                        output));
    }

    /// A compressor that launches its own work on the device.
    private Handle<Tensor> allreduceByCompressor(
            String name,
            Tensor input,
            Tensor output,
            Compressor compressor,
            AllreduceOptions options) {
        Scale scale = options.scale();
        if (scale.postscale() != 1.0) {
            throw new IllegalArgumentException(
                    """
                    allreduce of '%s': this compressor takes no postscale on %s, but it is %s
                    Scale the result, or use Compression.FP16 or BF16."""
                            .formatted(name, input.device(), scale.postscale()));
        }
        Tensor sent = input;
        if (input != output) {
            copy(input, output);
            sent = output.ready();
        }
        if (scale.prescale() != 1.0) {
            sent = rankRuntime.devices().scale(sent, scale.prescale());
        }
        return compressor
                .allreduceAsync(
                        CompositeCall.mark(this, name, "compressed allreduce"),
                        name,
                        sent,
                        options.op())
                .thenApply(_ -> output);
    }

    @Override
    public DeviceDriver driver(Device device) {
        return rankRuntime.devices().driver(device);
    }

    @Override
    public DeviceStream workStream(Device device) {
        return rankRuntime.devices().workStream(device);
    }

    /// The backend of a device converts elements while it packs them, so there is one operation.
    private Request compressedOnDevice(
            String name,
            Tensor input,
            Tensor output,
            Compressor compressor,
            AllreduceOptions options) {
        DataType wireType =
                compressor
                        .wireType(input.dataType())
                        .orElseThrow(
                                () ->
                                        new IllegalArgumentException(
                                                """
                                                allreduce of '%s': this compressor works in main memory, but the tensor is on %s
                                                Use Compression.FP16 or BF16 there, or copy the tensor."""
                                                        .formatted(name, input.device())));
        return allreduceRequest(name, input, output, options.op(), options.scale())
                .withWireType(wireType);
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
        Communicator target = target(options.processSet());
        if (target != this) {
            return target.groupedAllreduceAsync(name, tensors, options.withoutProcessSet());
        }
        if (options.compressor().isPresent() && !tensors.isEmpty()) {
            return groupedAllreduceCompressed(name, tensors, options);
        }
        return submitGroup(
                group("groupedAllreduce", name, tensors.size()),
                tensors,
                (ofGroup, member, tensor) ->
                        ofGroup.allreduceRequest(
                                member, tensor, tensor, options.op(), options.scale()),
                tensor -> allreduce(tensor, tensor));
    }

    /// Checks all tensors before it submits the first: a group is submitted as a whole or not at
    /// all.
    private Handle<List<Tensor>> groupedAllreduceCompressed(
            String name, List<Tensor> tensors, AllreduceOptions options) {
        String[] names = groupNames.of(name, tensors.size());
        for (int i = 0; i < names.length; i++) {
            ArgumentChecks.checkNotConfined(names[i], tensors.get(i));
            ArgumentChecks.checkReducible(
                    CollectiveKind.ALLREDUCE,
                    names[i],
                    tensors.get(i),
                    options.op(),
                    options.scale());
        }
        AllreduceOptions ofMembers = options.withoutProcessSet();
        Communicator parts = within(group("groupedAllreduce", name, names.length));
        return Handle.allOf(
                IntStream.range(0, names.length)
                        .mapToObj(i -> parts.allreduceAsync(names[i], tensors.get(i), ofMembers))
                        .toList());
    }

    @Override
    public Handle<SparseResult> sparseAllreduceAsync(
            String name, SparseTensor tensor, ReduceOp op) {
        return SparseAllreduce.DEFAULT.allreduceAsync(open(), name, tensor, op);
    }

    @Override
    public Tensor allgather(String name, Tensor tensor) {
        return open().agent
                .perform(
                        allgatherRequest(name, tensor),
                        new Operation.Allgather(unconfined(tensor)));
    }

    @Override
    public Handle<Tensor> allgatherAsync(String name, Tensor tensor) {
        ArgumentChecks.checkNotConfined(name, tensor);
        return open().agent.submit(allgatherRequest(name, tensor), new Operation.Allgather(tensor));
    }

    @Override
    public Handle<List<Tensor>> groupedAllgatherAsync(String name, List<Tensor> tensors) {
        return open().submitGroup(
                        group("groupedAllgather", name, tensors.size()),
                        tensors,
                        RankCommunicator::allgatherRequest,
                        Operation.Allgather::new);
    }

    @Override
    public Tensor broadcast(String name, Tensor tensor, int rootRank) {
        open().checks.checkRoot(name, rootRank);
        Tensor data = unconfined(tensor);
        Tensor _ =
                agent.perform(
                        Request.broadcast(name, data, rootRank, call),
                        new Operation.Broadcast(data));
        return copyBack(data, tensor);
    }

    @Override
    public Handle<Tensor> broadcastAsync(String name, Tensor tensor, int rootRank) {
        open().checks.checkRoot(name, rootRank);
        ArgumentChecks.checkNotConfined(name, tensor);
        return agent.submit(
                Request.broadcast(name, tensor, rootRank, call), new Operation.Broadcast(tensor));
    }

    @Override
    public AlltoallResult alltoall(String name, Tensor tensor, AlltoallOptions options) {
        Communicator target = target(options.processSet());
        if (target != this) {
            return target.alltoall(name, tensor, options.withoutProcessSet());
        }
        int[] rows = checks.alltoallRows(name, tensor, options);
        return agent.perform(
                Request.forDataMovement(CollectiveKind.ALLTOALL, name, tensor, call),
                new Operation.Alltoall(unconfined(tensor), rows));
    }

    @Override
    public Handle<AlltoallResult> alltoallAsync(
            String name, Tensor tensor, AlltoallOptions options) {
        Communicator target = target(options.processSet());
        if (target != this) {
            return target.alltoallAsync(name, tensor, options.withoutProcessSet());
        }
        int[] rows = checks.alltoallRows(name, tensor, options);
        ArgumentChecks.checkNotConfined(name, tensor);
        return agent.submit(
                Request.forDataMovement(CollectiveKind.ALLTOALL, name, tensor, call),
                new Operation.Alltoall(tensor, rows));
    }

    @Override
    public Tensor reducescatter(String name, Tensor tensor, ReducescatterOptions options) {
        Communicator target = target(options.processSet());
        if (target != this) {
            return target.reducescatter(name, tensor, options.withoutProcessSet());
        }
        return agent.perform(
                reducescatterRequest(name, tensor, options),
                new Operation.Reducescatter(unconfined(tensor)));
    }

    @Override
    public Handle<Tensor> reducescatterAsync(
            String name, Tensor tensor, ReducescatterOptions options) {
        Communicator target = target(options.processSet());
        if (target != this) {
            return target.reducescatterAsync(name, tensor, options.withoutProcessSet());
        }
        ArgumentChecks.checkNotConfined(name, tensor);
        return agent.submit(
                reducescatterRequest(name, tensor, options), new Operation.Reducescatter(tensor));
    }

    @Override
    public Handle<List<Tensor>> groupedReducescatterAsync(
            String name, List<Tensor> tensors, ReducescatterOptions options) {
        Communicator target = target(options.processSet());
        if (target != this) {
            return target.groupedReducescatterAsync(name, tensors, options.withoutProcessSet());
        }
        return submitGroup(
                group("groupedReducescatter", name, tensors.size()),
                tensors,
                (ofGroup, member, tensor) -> ofGroup.reducescatterRequest(member, tensor, options),
                Operation.Reducescatter::new);
    }

    @Override
    public void barrier() {
        Boolean _ = open().agent.perform(Request.barrier(), new Operation.Barrier());
    }

    @Override
    public int join() {
        return open().agent.join();
    }

    @Override
    public void failStep(String reason) {
        open().agent.failStep(Objects.requireNonNull(reason, "the reason of a failed step"));
    }

    @Override
    public int completedJoins() {
        return open().agent.completedJoins();
    }

    @Override
    public <T extends @Nullable Object> T broadcastObject(String name, T object, int rootRank) {
        open().checks.checkRoot(name, rootRank);
        return objectCollectives.broadcast(name, object, rootRank);
    }

    @Override
    public <T extends @Nullable Object> List<T> allgatherObject(String name, T object) {
        return open().objectCollectives.allgather(name, object);
    }

    @Override
    public ProcessSet processSet() {
        return open().processSet;
    }

    @Override
    public List<ProcessSet> processSets() {
        return open().rankRuntime.processSets().all();
    }

    @Override
    public ProcessSet addProcessSet(int... ranks) {
        return open().rankRuntime
                .processSets()
                .add(List.of(Arrays.stream(ranks).boxed().toList()))
                .getFirst();
    }

    @Override
    public boolean removeProcessSet(ProcessSet other) {
        return open().rankRuntime.processSets().remove(other);
    }

    @Override
    public void startTimeline(Path file, boolean markCycles) {
        open().rankRuntime.startTimeline(file, markCycles);
    }

    @Override
    public void stopTimeline() {
        open().rankRuntime.stopTimeline();
    }

    @Override
    public String describeState() {
        return open().rankRuntime.describeState();
    }

    @Override
    public boolean isOpen() {
        return !origin.isClosed && !rankRuntime.isClosed();
    }

    @Override
    public void shutdown() {
        open().rankRuntime.close();
    }

    @Override
    public void close() {
        if (set.id() == 0) {
            rankRuntime.close();
        } else {
            origin.isClosed = true;
        }
    }

    /// This communicator, if the program has not closed it.
    private RankCommunicator open() {
        if (origin.isClosed) {
            throw new IllegalStateException(
                    "this communicator of %s is closed: get another from ProcessSet.communicator()"
                            .formatted(processSet));
        }
        return this;
    }

    /// The communicator that runs an operation: that of the process set in its options, or this
    /// one.
    private Communicator target(Optional<ProcessSet> set) {
        RankCommunicator self = open();
        return set.map(ProcessSet::communicator).orElse(self);
    }

    /// Submits one operation for each tensor. A group without tensors submits one on no elements:
    /// so the ranks find out if it has tensors on some of them.
    private Handle<List<Tensor>> submitGroup(
            CompositeCall group,
            List<Tensor> tensors,
            RequestFactory request,
            Function<Tensor, Operation<Tensor>> operation) {
        RankCommunicator ofGroup = within(group);
        int count = tensors.size();
        if (count == 0) {
            Tensor empty = Tensor.of(new float[0]);
            Request only = request.request(ofGroup, group.name() + "_0of0", empty);
            return agent.submit(only, operation.apply(empty)).thenApply(_ -> List.of());
        }
        List<Request> requests = new ArrayList<>(count);
        List<Operation<Tensor>> operations = new ArrayList<>(count);
        String[] names = groupNames.of(group.name(), count);
        for (int i = 0; i < count; i++) {
            Tensor tensor = tensors.get(i);
            ArgumentChecks.checkNotConfined(names[i], tensor);
            requests.add(request.request(ofGroup, names[i], tensor));
            operations.add(operation.apply(tensor));
        }
        return Handle.allOf(agent.submitAll(requests, operations));
    }

    private static CompositeCall group(String method, String name, int members) {
        return new CompositeCall(name, method, members);
    }

    /// Creates the request for a member of a group.
    private interface RequestFactory {
        /// @param ofGroup marks requests as parts of the group
        Request request(RankCommunicator ofGroup, String name, Tensor tensor);
    }

    private Request allreduceRequest(
            String name, Tensor input, Tensor output, ReduceOp op, Scale scale) {
        ArgumentChecks.checkReducible(CollectiveKind.ALLREDUCE, name, input, op, scale);
        boolean shared = input == output && input.device().isHost() && backend.isShared(input);
        return Request.forReduction(CollectiveKind.ALLREDUCE, name, input, op, scale, shared, call);
    }

    private static Operation<Tensor> allreduce(Tensor input, Tensor output) {
        return new Operation.Allreduce(input, output);
    }

    private Request allgatherRequest(String name, Tensor tensor) {
        ArgumentChecks.checkNotScalar(CollectiveKind.ALLGATHER, name, tensor);
        return Request.forDataMovement(CollectiveKind.ALLGATHER, name, tensor, call);
    }

    private Request reducescatterRequest(String name, Tensor tensor, ReducescatterOptions options) {
        ArgumentChecks.checkNotScalar(CollectiveKind.REDUCESCATTER, name, tensor);
        ArgumentChecks.checkReducible(
                CollectiveKind.REDUCESCATTER, name, tensor, options.op(), options.scale());
        return Request.forReduction(
                CollectiveKind.REDUCESCATTER,
                name,
                tensor,
                options.op(),
                options.scale(),
                false,
                call);
    }

    /// Returns a copy if the tensor lies in a confined arena, which only one thread may access.
    /// Otherwise returns the tensor itself.
    private static Tensor unconfined(Tensor tensor) {
        return ArgumentChecks.isConfined(tensor) ? tensor.copy() : tensor;
    }

    /// Copies the result to the caller's tensor if the operation worked on a copy.
    private static Tensor copyBack(Tensor result, Tensor tensor) {
        if (result != tensor) {
            tensor.segment().copyFrom(result.segment());
        }
        return tensor;
    }
}
