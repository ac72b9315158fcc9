package org.horovod4j.djl.engine;

import org.horovod4j.log.Log;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/// Calls from libtorch with a gradient that it is about to pass on, and may be given another for.
///
/// libtorch keeps such a function in the graph of a computation, copies it at will and destroys it
/// with the graph. The function holds a number; what it stands for is held here until the last copy
/// is gone.
final class GradientFunctions {
    private static final Logger LOG = Log.of(GradientFunctions.class);

    /// All bits set: NaN in every type of floating-point numbers.
    private static final byte NAN = (byte) 0xFF;

    private final TorchTensors tensors;
    private final FunctionObjects objects;
    private final Failures failures;
    private final MemorySegment manager;
    private final MemorySegment invoker;
    private final AtomicLong ids = new AtomicLong();
    private final Map<Long, Change> changes = new ConcurrentHashMap<>();

    /// @param failures where what goes wrong is kept, as libtorch cannot be told
    GradientFunctions(TorchTensors tensors, FunctionObjects objects, Failures failures) {
        this.tensors = tensors;
        this.objects = objects;
        this.failures = failures;
        this.manager = objects.manager(id -> count(id, 1), id -> count(id, -1));
        this.invoker = FunctionObjects.invoker(this::called);
    }

    void add(long tensor, long byteSize, Consumer<MemorySegment> action) {
        long id = ids.incrementAndGet();
        changes.put(id, new Change(action, byteSize, 1));
        objects.install(tensor, id, manager, invoker);
    }

    /// How many are held, for tests.
    int size() {
        return changes.size();
    }

    private void count(long id, int copies) {
        changes.computeIfPresent(
                id,
                (same, change) ->
                        change.copies + copies == 0
                                ? null
                                : new Change(
                                        change.action, change.byteSize, change.copies + copies));
    }

    /// Called by libtorch for the gradient.
    private MemorySegment called(
            MemorySegment result, MemorySegment function, MemorySegment gradient) {
        tensors.setUndefined(result); // which leaves the gradient as it is
        try {
            Change change = changes.get(FunctionObjects.id(function));
            if (change == null) {
                keep(
                        new IllegalStateException(
                                "libtorch called an unknown function on a gradient"));
                putNan(gradient.address(), result);
            } else {
                change(gradient.address(), change, result);
            }
        } catch (Throwable e) { // whatever it is, it must not reach libtorch
            failures.keep(e);
        }
        return result;
    }

    private void keep(Throwable failure) {
        LOG.log(Level.ERROR, "A gradient is NaN from here on, for want of another", failure);
        failures.keep(failure);
    }

    private void change(long gradient, Change change, MemorySegment result) {
        TorchTensors.OwnTensor copied;
        try {
            copied = copy(gradient, change.byteSize);
        } catch (RuntimeException | Error e) {
            keep(e);
            doWithout(gradient, change, result);
            return;
        }
        try (TorchTensors.OwnTensor copy = copied) {
            run(change.action, copy.memory());
            copy.swap(result);
        }
    }

    private TorchTensors.OwnTensor copy(long gradient, long byteSize) {
        TorchTensors.OwnTensor copy = tensors.cloneRowMajor(gradient);
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
                    backward brought a gradient of %d bytes for an array of %d, so it could not be changed
                    Let the computation keep the array's shape and data type."""
                            .formatted(found, expected));
        }
    }

    private void run(Consumer<MemorySegment> action, MemorySegment memory) {
        try {
            action.accept(memory);
        } catch (Throwable e) { // the gradient must be spoilt, whatever it is
            keep(e);
            memory.fill(NAN);
        }
    }

    /// Makes the change to something else, as it may be a collective, in which the other ranks
    /// wait.
    private void doWithout(long gradient, Change change, MemorySegment result) {
        try (Arena arena = Arena.ofShared()) { // threads of the runtime read it too
            MemorySegment memory = arena.allocate(change.byteSize, Long.BYTES);
            memory.fill(NAN);
            change.action.accept(memory);
        } finally {
            putNan(gradient, result);
        }
    }

    private void putNan(long gradient, MemorySegment result) {
        try (TorchTensors.OwnTensor nothing = tensors.newRowMajor(gradient)) {
            nothing.memory().fill(NAN);
            nothing.swap(result);
        }
    }

    /// @param copies how many libtorch has of the function that stands for it
    private record Change(Consumer<MemorySegment> action, long byteSize, int copies) {}
}
