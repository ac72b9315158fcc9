package org.horovod4j.libtorch;

import org.horovod4j.log.Log;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/// Calls from libtorch that may replace the gradient of an intermediate result.
///
/// libtorch keeps such a function in the graph of a computation, may copy it, and destroys it with
/// the graph. The function holds an id; its action is kept here until the last copy is destroyed.
final class GradientTransforms {
    private static final Logger LOG = Log.of(GradientTransforms.class);

    /// All bits set: NaN in every type of floating-point numbers.
    private static final byte NAN = (byte) 0xFF;

    private final TorchTensors tensors;
    private final FunctionObjects objects;
    private final DeferredFailures deferredFailures;
    private final MemorySegment manager;
    private final MemorySegment invoker;
    private final AtomicLong ids = new AtomicLong();
    private final Map<Long, Transform> transforms = new ConcurrentHashMap<>();

    /// @param deferredFailures receives exceptions, since they cannot be thrown through libtorch
    GradientTransforms(
            TorchTensors tensors, FunctionObjects objects, DeferredFailures deferredFailures) {
        this.tensors = tensors;
        this.objects = objects;
        this.deferredFailures = deferredFailures;
        this.manager = objects.manager(id -> adjustCopies(id, 1), id -> adjustCopies(id, -1));
        this.invoker = FunctionObjects.invoker(this::called);
    }

    void add(long tensor, long byteSize, Consumer<MemorySegment> action) {
        long id = ids.incrementAndGet();
        transforms.put(id, new Transform(action, byteSize, 1));
        objects.install(tensor, id, manager, invoker);
    }

    /// The number of transforms that are alive, for tests.
    int size() {
        return transforms.size();
    }

    private void adjustCopies(long id, int copies) {
        transforms.computeIfPresent(
                id,
                (same, transform) ->
                        transform.copies + copies == 0
                                ? null
                                : new Transform(
                                        transform.action,
                                        transform.byteSize,
                                        transform.copies + copies));
    }

    /// Called by libtorch for the gradient.
    private MemorySegment called(
            MemorySegment result, MemorySegment function, MemorySegment gradient) {
        tensors.setUndefined(result); // means: keep the gradient
        try {
            Transform transform = transforms.get(FunctionObjects.id(function));
            if (transform == null) {
                recordFailure(
                        new IllegalStateException(
                                "libtorch called an unknown function on a gradient"));
                putNan(gradient.address(), result);
            } else {
                apply(gradient.address(), transform, result);
            }
        } catch (Throwable e) { // no exception may reach libtorch
            deferredFailures.add(e);
        }
        return result;
    }

    private void recordFailure(Throwable failure) {
        LOG.log(
                Level.ERROR,
                "Changing a gradient during backward failed; the gradient is set to NaN",
                failure);
        deferredFailures.add(failure);
    }

    private void apply(long gradient, Transform transform, MemorySegment result) {
        TorchTensors.OwnedTensor copied;
        try {
            copied = copy(gradient, transform.byteSize);
        } catch (RuntimeException | Error e) {
            recordFailure(e);
            applyToNan(gradient, transform, result);
            return;
        }
        try (TorchTensors.OwnedTensor copy = copied) {
            run(transform.action, copy.memory());
            tensors.store(copy, gradient, result);
        }
    }

    private TorchTensors.OwnedTensor copy(long gradient, long byteSize) {
        TorchTensors.OwnedTensor copy = tensors.cloneRowMajor(gradient);
        try {
            checkSize(copy.memory().byteSize(), byteSize);
            return copy;
        } catch (RuntimeException | Error e) {
            copy.close();
            throw e;
        }
    }

    private static void checkSize(long found, long expected) {
        if (found != expected) {
            throw new IllegalStateException(
                    """
                    backward computed a gradient of %d bytes for an array of %d bytes, so it cannot be changed
                    Let the computation keep the array's shape and data type."""
                            .formatted(found, expected));
        }
    }

    private void run(Consumer<MemorySegment> action, MemorySegment memory) {
        try {
            action.accept(memory);
        } catch (Throwable e) { // whatever the failure is, the gradient must not look valid
            recordFailure(e);
            memory.fill(NAN);
        }
    }

    /// Runs the action on other memory: it may be a collective, for which the other ranks wait.
    private void applyToNan(long gradient, Transform transform, MemorySegment result) {
        try (Arena arena = Arena.ofShared()) { // read by other threads too
            MemorySegment memory = arena.allocate(transform.byteSize, Long.BYTES);
            memory.fill(NAN);
            transform.action.accept(memory);
        } finally {
            putNan(gradient, result);
        }
    }

    private void putNan(long gradient, MemorySegment result) {
        try (TorchTensors.OwnedTensor nothing = tensors.newRowMajor(gradient)) {
            nothing.memory().fill(NAN);
            tensors.store(nothing, gradient, result);
        }
    }

    /// @param copies how many copies of the function libtorch has
    private record Transform(Consumer<MemorySegment> action, long byteSize, int copies) {}
}
