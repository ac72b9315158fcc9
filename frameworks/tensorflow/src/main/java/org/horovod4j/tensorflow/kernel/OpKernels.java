package org.horovod4j.tensorflow.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.log.Log;
import org.horovod4j.option.GraphKernels;
import org.horovod4j.option.Options;
import org.jspecify.annotations.Nullable;
import org.tensorflow.TensorFlow;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/// The kernels of our ops in this process. TensorFlow has one registry per process, so this object
/// is static.
public final class OpKernels {
    private static final Logger LOG = Log.of(OpKernels.class);

    /// The versions of TensorFlow that our tests have run with.
    private static final Set<String> KNOWN_VERSIONS = Set.of("2.18.0");

    private static final String KNOWN_PLATFORM = "Linux amd64";
    private static @Nullable OpKernels registered;

    private final NodeVariant variant;
    private final KernelApi api;
    private final DoneCallback.Functions doneFunctions;

    /// Runs between the node that starts them and the one that ends them, by the kernel that started
    /// them: a node is run once at a time.
    private final Map<Long, BufferedExecution> pending = new ConcurrentHashMap<>();

    private final Map<Long, Kernel> kernels = new ConcurrentHashMap<>();
    private final AtomicLong kernelCount = new AtomicLong();
    private final List<NodeFunction> functions = new ArrayList<>();
    private final Map<NodeFunction, Integer> numbers = new HashMap<>();

    /// Whether TensorFlow passes the callback that we know; null before the first run.
    private volatile @Nullable Boolean callbackKnown;

    private OpKernels(LibTensorFlow library, NodeVariant variant) {
        this.variant = variant;
        api = new KernelApi(library);
        doneFunctions = DoneCallback.Functions.of(library);
        Registration registration = new Registration(library);
        MemorySegment create = createCallback();
        MemorySegment delete = deleteCallback();
        for (OpType type : OpType.values()) {
            switch (variant) {
                case ASYNC -> {
                    registration.registerOp(type);
                    registration.registerAsyncKernel(
                            type.typeName(),
                            new Registration.KernelFunctions(create, asyncCallback(), delete));
                }
                case BLOCKING -> {
                    registration.registerPair(type);
                    registration.registerKernel(
                            type.startName(),
                            new Registration.KernelFunctions(
                                    create, callback(this::start), delete));
                    registration.registerKernel(
                            type.waitName(),
                            new Registration.KernelFunctions(
                                    create, callback(this::await), delete));
                }
            }
        }
    }

    /// Registers our ops in TensorFlow, with the default choice of kernels. The first call does it;
    /// later calls return at once.
    ///
    /// @throws UnsupportedOperationException when that is not possible in this process
    static OpKernels get() {
        return register(GraphKernels.AUTO);
    }

    /// Registers our ops in TensorFlow, once per process: later calls change nothing.
    ///
    /// @param choice how collectives run
    /// @throws UnsupportedOperationException when that is not possible in this process
    public static synchronized OpKernels register(GraphKernels choice) {
        OpKernels before = registered;
        if (before != null) {
            return before;
        }
        LibTensorFlow library = new LibTensorFlow();
        Optional<String> reason =
                reasonAgainstAsync(
                        choice,
                        TensorFlow.version(),
                        System.getProperty("os.name") + " " + System.getProperty("os.arch"));
        OpKernels kernels =
                new OpKernels(library, reason.isEmpty() ? NodeVariant.ASYNC : NodeVariant.BLOCKING);
        registered = kernels;
        LOG.log(
                reason.isEmpty() || choice == GraphKernels.BLOCKING ? Level.INFO : Level.WARNING,
                reason.isEmpty()
                        ? "Collectives block no thread of TensorFlow " + TensorFlow.version()
                        : "Collectives block threads of TensorFlow: " + reason.get());
        return kernels;
    }

    /// Why asynchronous kernels are not used.
    static Optional<String> reasonAgainstAsync(
            GraphKernels choice, String version, String platform) {
        if (choice == GraphKernels.BLOCKING) {
            return Optional.of("%s says so".formatted(Options.TENSORFLOW_KERNELS));
        }
        if (choice == GraphKernels.AUTO && !KNOWN_VERSIONS.contains(version)) {
            return Optional.of(
                    "asynchronous kernels are tested with TensorFlow %s, not with %s; %s=async uses them with any version"
                            .formatted(
                                    String.join(", ", KNOWN_VERSIONS),
                                    version,
                                    Options.TENSORFLOW_KERNELS));
        }
        return platform.equals(KNOWN_PLATFORM)
                ? Optional.empty()
                : Optional.of(
                        "asynchronous kernels need %s, but this is %s"
                                .formatted(KNOWN_PLATFORM, platform));
    }

    /// How collectives run in this process.
    public NodeVariant variant() {
        return variant;
    }

    /// The number of a function in the attributes of nodes. Equal functions have one number.
    synchronized long number(NodeFunction function) {
        return numbers.computeIfAbsent(
                function,
                added -> {
                    functions.add(added);
                    return functions.size() - 1;
                });
    }

    /// @throws IllegalStateException when there is none
    synchronized NodeFunction function(long number) {
        if (number < 0 || number >= functions.size()) {
            throw new IllegalStateException(
                    "an op of Horovod4J was built in another process; build it with HvdTensorFlow");
        }
        return functions.get((int) number);
    }

    /// The node of a graph in a session.
    private record Kernel(String name, NodeFunction function) {}

    private interface Create {
        @SuppressWarnings("UnusedMethod") // called through its handle
        MemorySegment called(MemorySegment construction);
    }

    private interface AsyncCompute {
        @SuppressWarnings("UnusedMethod") // called through its handle
        void called(MemorySegment kernel, MemorySegment context, MemorySegment done);
    }

    private interface Compute {
        @SuppressWarnings("UnusedMethod") // called through its handle
        void called(MemorySegment kernel, MemorySegment context);
    }

    private interface Delete {
        @SuppressWarnings("UnusedMethod") // called through its handle
        void called(MemorySegment kernel);
    }

    private MemorySegment createCallback() {
        return LibTensorFlow.callback(
                Create.class, this::create, FunctionDescriptor.of(ADDRESS, ADDRESS));
    }

    private MemorySegment deleteCallback() {
        return LibTensorFlow.callback(
                Delete.class, this::delete, FunctionDescriptor.ofVoid(ADDRESS));
    }

    private MemorySegment asyncCallback() {
        return LibTensorFlow.callback(
                AsyncCompute.class,
                this::compute,
                FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, ADDRESS));
    }

    private static MemorySegment callback(Compute compute) {
        return LibTensorFlow.callback(
                Compute.class, compute, FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
    }

    /// Creates the kernel of a node. Its "address" is its number.
    private MemorySegment create(MemorySegment construction) {
        try {
            NodeFunction function = function(api.longAttribute(construction, Node.FUNCTION));
            String description = api.stringAttribute(construction, Node.DESCRIPTION);
            if (!description.equals(function.toString())) {
                throw new IllegalStateException(
                        "'%s' was built in another process; build it with HvdTensorFlow"
                                .formatted(description));
            }
            long number = kernelCount.incrementAndGet();
            kernels.put(
                    number,
                    new Kernel(api.stringAttribute(construction, Node.TENSOR_NAME), function));
            return MemorySegment.ofAddress(number);
        } catch (Throwable e) { // nothing may be thrown into native code
            api.failConstruction(construction, Failures.record(e));
            return MemorySegment.NULL;
        }
    }

    private void compute(MemorySegment kernel, MemorySegment context, MemorySegment done) {
        boolean known;
        try {
            known = isCallbackKnown(done);
        } catch (Throwable e) { // nothing may be thrown into native code
            api.failRun(context, Failures.record(e));
            DoneCallback.callInPlace(doneFunctions, done);
            return;
        }
        if (known) {
            run(kernel, new ContextExecution(api, context, DoneCallback.take(doneFunctions, done)));
            return;
        }
        CountDownLatch ended = new CountDownLatch(1);
        run(kernel, new ContextExecution(api, context, ended::countDown));
        awaitUninterruptibly(ended);
        DoneCallback.callInPlace(doneFunctions, done);
    }

    /// The first run checks the layout of the callback that all runs get.
    private boolean isCallbackKnown(MemorySegment done) {
        Boolean known = callbackKnown;
        if (known == null) {
            known = DoneCallback.hasKnownLayout(done, CodeRegions.ofTensorFlow());
            callbackKnown = known;
            if (!known) {
                LOG.log(
                        Level.WARNING,
                        "Each collective blocks a thread of TensorFlow, because TensorFlow {0} does not"
                                + " pass a known kind of callback",
                        TensorFlow.version());
            }
        }
        return known;
    }

    private void run(MemorySegment kernel, Execution execution) {
        try {
            Kernel node = node(kernel);
            node.function.start(node.name, execution);
        } catch (Throwable e) { // nothing may be thrown into native code
            execution.fail(e);
        }
    }

    private Kernel node(MemorySegment kernel) {
        return Objects.requireNonNull(kernels.get(kernel.address()), "kernel");
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        boolean interrupted = false;
        while (true) {
            try {
                latch.await();
                break;
            } catch (InterruptedException _) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /// Starts a run. The output is the number of the kernel. A run that a failed step has started and
    /// not waited for is replaced.
    private void start(MemorySegment kernel, MemorySegment context) {
        try {
            BufferedExecution execution = new BufferedExecution(api, context);
            pending.put(kernel.address(), execution);
            run(kernel, execution);
            KernelApi.NativeTensor output = api.output(context, 0, DataType.INT64, Shape.SCALAR);
            output.tensor().segment().set(JAVA_LONG_UNALIGNED, 0, kernel.address());
            api.delete(output);
        } catch (Throwable e) { // nothing may be thrown into native code
            api.failRun(context, Failures.record(e));
        }
    }

    /// Waits for the end of a run. The last input is the kernel that started it.
    private void await(MemorySegment kernel, MemorySegment context) {
        try {
            KernelApi.NativeTensor handle = api.input(context, api.inputCount(context) - 1);
            long starter = handle.tensor().segment().get(JAVA_LONG_UNALIGNED, 0);
            api.delete(handle);
            Objects.requireNonNull(
                            pending.remove(starter),
                            () -> "'%s' waits twice".formatted(node(kernel).name))
                    .finish(context);
        } catch (CompletionException e) {
            api.failRun(context, Failures.record(e.getCause() == null ? e : e.getCause()));
        } catch (Throwable e) { // nothing may be thrown into native code
            api.failRun(context, Failures.record(e));
        }
    }

    private void delete(MemorySegment kernel) {
        kernels.remove(kernel.address());
        pending.remove(kernel.address());
    }
}
