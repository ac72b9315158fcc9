package org.horovod4j.tensorflow.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.log.Log;
import org.horovod4j.tensorflow.kernel.KernelApi.NativeTensor;
import org.jspecify.annotations.Nullable;
import org.tensorflow.TensorFlow;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/// The kernels of our ops: what TensorFlow calls to create, run and delete them.
final class KernelCallbacks {
    private static final Logger LOG = Log.of(KernelCallbacks.class);
    private static final Duration BLOCKED_WARNING = Duration.ofSeconds(10);

    private final LibTensorFlow library;
    private final NodeFunctions functions;
    private final boolean isKnownBuild;
    private final KernelApi api;
    private final DoneCallback.Functions doneFunctions;

    /// Runs between the node that starts them and the one that ends them, by the kernel that started
    /// them: a node is run once at a time.
    private final Map<Long, BufferedExecution> pending = new ConcurrentHashMap<>();

    /// The names of nodes that block a thread now.
    private final Set<String> blocked = ConcurrentHashMap.newKeySet();

    private final Map<Long, Kernel> kernels = new ConcurrentHashMap<>();
    private final AtomicLong kernelCount = new AtomicLong();

    /// Whether TensorFlow passes the callback that we know; null before the first run.
    private volatile @Nullable Boolean callbackKnown;

    /// @param isKnownBuild whether our tests run with this build of TensorFlow
    /// @throws UnsupportedOperationException when the library lacks a function
    KernelCallbacks(LibTensorFlow library, NodeFunctions functions, boolean isKnownBuild) {
        this.library = library;
        this.functions = functions;
        this.isKnownBuild = isKnownBuild;
        api = new KernelApi(library);
        doneFunctions = DoneCallback.Functions.of(library);
    }

    /// Registers our ops and their kernels in TensorFlow.
    ///
    /// @throws UnsupportedOperationException when the library lacks a function
    /// @throws IllegalStateException when TensorFlow refuses
    void register(KernelMode mode) {
        Registration registration = new Registration(library);
        MemorySegment create = createCallback();
        MemorySegment delete = deleteCallback();
        for (OpType type : OpType.values()) {
            switch (mode) {
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
                case FETCH -> throw new IllegalArgumentException("there are no kernels");
            }
        }
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
            NodeFunction function = functions.get(api.longAttribute(construction, Node.FUNCTION));
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
            run(
                    kernel,
                    new ContextExecution(
                            api, context, isKnownBuild, DoneCallback.take(doneFunctions, done)));
            return;
        }
        CountDownLatch ended = new CountDownLatch(1);
        run(kernel, new ContextExecution(api, context, isKnownBuild, ended::countDown));
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
            List<NativeTensor> inputs = inputs(context);
            BufferedExecution execution =
                    new BufferedExecution(
                            inputs.stream().map(NativeTensor::tensor).toList(),
                            () -> inputs.forEach(api::delete));
            pending.put(kernel.address(), execution);
            run(kernel, execution);
            NativeTensor output = api.output(context, 0, DataType.INT64, Shape.SCALAR);
            output.tensor().segment().set(JAVA_LONG_UNALIGNED, 0, kernel.address());
            api.delete(output);
        } catch (Throwable e) { // nothing may be thrown into native code
            api.failRun(context, Failures.record(e));
        }
    }

    /// The inputs of a node, which the caller deletes.
    private List<NativeTensor> inputs(MemorySegment context) {
        List<NativeTensor> inputs = new ArrayList<>();
        try {
            for (int i = 0; i < api.inputCount(context); i++) {
                inputs.add(api.input(context, i));
            }
        } catch (RuntimeException | Error e) {
            inputs.forEach(api::delete);
            throw e;
        }
        return inputs;
    }

    /// Waits for the end of a run. The last input is the kernel that started it.
    private void await(MemorySegment kernel, MemorySegment context) {
        try {
            NativeTensor handle = api.input(context, api.inputCount(context) - 1);
            long starter = handle.tensor().segment().get(JAVA_LONG_UNALIGNED, 0);
            api.delete(handle);
            BufferedExecution execution =
                    Objects.requireNonNull(
                            pending.remove(starter),
                            () -> "'%s' waits twice".formatted(node(kernel).name));
            setOutputs(context, awaitBlocking(node(kernel).name, execution));
        } catch (CompletionException e) {
            api.failRun(context, Failures.record(e.getCause() == null ? e : e.getCause()));
        } catch (Throwable e) { // nothing may be thrown into native code
            api.failRun(context, Failures.record(e));
        }
    }

    /// Waits in a thread of TensorFlow. If all threads do, TensorFlow cannot start what other ranks wait
    /// for.
    private List<Tensor> awaitBlocking(String name, BufferedExecution execution) {
        blocked.add(name);
        try {
            if (!execution.await(BLOCKED_WARNING)) {
                LOG.log(
                        Level.WARNING,
                        "{0} has blocked a thread of TensorFlow for {1} s. Now blocked by: {2}. If all inter-op"
                                + " threads are blocked, TensorFlow cannot start collectives that other ranks wait"
                                + " for. Create the session with HvdTensorFlow.config() when the graph is complete:"
                                + " it has enough threads.",
                        name,
                        BLOCKED_WARNING.toSeconds(),
                        String.join(", ", blocked));
            }
            return execution.await();
        } finally {
            blocked.remove(name);
        }
    }

    private void setOutputs(MemorySegment context, List<Tensor> values) {
        for (int i = 0; i < values.size(); i++) {
            Tensor value = values.get(i);
            NativeTensor output = api.output(context, i, value.dataType(), value.shape());
            try {
                output.tensor().segment().copyFrom(value.segment());
            } finally {
                api.delete(output);
            }
        }
    }

    private void delete(MemorySegment kernel) {
        kernels.remove(kernel.address());
        pending.remove(kernel.address());
    }
}
