package org.horovod4j.tensorflow.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;

import org.horovod4j.log.Log;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/// The kernels of our ops in this process. TensorFlow has one registry per process, so this object
/// is static.
public final class OpKernels {
    private static final Logger LOG = Log.of(OpKernels.class);
    private static @Nullable OpKernels registered;

    private final KernelApi api;
    private final DoneCallback.Functions doneFunctions;
    private final Map<Long, Kernel> kernels = new ConcurrentHashMap<>();
    private final AtomicLong kernelCount = new AtomicLong();
    private final List<NodeFunction> functions = new ArrayList<>();
    private final Map<NodeFunction, Integer> numbers = new HashMap<>();

    private OpKernels(LibTensorFlow library) {
        api = new KernelApi(library);
        doneFunctions = DoneCallback.Functions.of(library);
        Registration registration = new Registration(library);
        Registration.KernelFunctions callbacks = callbacks();
        for (OpType type : OpType.values()) {
            registration.registerOp(type);
            registration.registerAsyncKernel(type, callbacks);
        }
    }

    /// Registers our ops in TensorFlow. The first call does it; later calls return at once.
    ///
    /// @throws UnsupportedOperationException when that is not possible in this process
    public static synchronized OpKernels get() {
        OpKernels before = registered;
        if (before != null) {
            return before;
        }
        OpKernels kernels = new OpKernels(new LibTensorFlow());
        registered = kernels;
        LOG.log(Level.DEBUG, "The ops of Horovod4J are registered in TensorFlow");
        return kernels;
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

    private interface Compute {
        @SuppressWarnings("UnusedMethod") // called through its handle
        void called(MemorySegment kernel, MemorySegment context, MemorySegment done);
    }

    private interface Delete {
        @SuppressWarnings("UnusedMethod") // called through its handle
        void called(MemorySegment kernel);
    }

    private Registration.KernelFunctions callbacks() {
        return new Registration.KernelFunctions(
                LibTensorFlow.callback(
                        Create.class, this::create, FunctionDescriptor.of(ADDRESS, ADDRESS)),
                LibTensorFlow.callback(
                        Compute.class,
                        this::compute,
                        FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, ADDRESS)),
                LibTensorFlow.callback(
                        Delete.class, this::delete, FunctionDescriptor.ofVoid(ADDRESS)));
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
        Execution execution =
                new ContextExecution(api, context, DoneCallback.take(doneFunctions, done));
        try {
            Kernel node = Objects.requireNonNull(kernels.get(kernel.address()), "kernel");
            node.function.start(node.name, execution);
        } catch (Throwable e) { // nothing may be thrown into native code
            execution.fail(e);
        }
    }

    private void delete(MemorySegment kernel) {
        kernels.remove(kernel.address());
    }
}
