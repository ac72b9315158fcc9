package org.horovod4j.djl.engine;

import org.horovod4j.log.Log;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/// Calls from libtorch with a gradient that it is about to pass on, and may be given another for.
///
/// libtorch keeps such a function in the graph of a computation, copies it at will and destroys it with the
/// graph. The function holds a number; what it stands for is held here until the last copy is gone.
final class GradientFunctions {
    private static final Logger LOG = Log.of(GradientFunctions.class);

    /// All bits set: NaN in every type of floating-point numbers.
    private static final byte NAN = (byte) 0xFF;

    private final LibTorch torch;
    private final MemorySegment manager;
    private final MemorySegment invoker;
    private final AtomicLong ids = new AtomicLong();
    private final Map<Long, Change> changes = new ConcurrentHashMap<>();

    GradientFunctions(LibTorch torch) {
        this.torch = torch;
        this.manager = LibTorch.managerAddress(this::managed);
        this.invoker = LibTorch.functionAddress(this::called);
    }

    void add(long tensor, long byteSize, Consumer<MemorySegment> action) {
        long id = ids.incrementAndGet();
        changes.put(id, new Change(action, byteSize, 1));
        torch.addGradientFunction(tensor, id, manager, invoker);
    }

    /// How many are held, for tests.
    int size() {
        return changes.size();
    }

    /// Called by libtorch when it copies or destroys a function.
    private boolean managed(MemorySegment to, MemorySegment from, int operation) {
        torch.manage(to, from, operation, id -> count(id, 1), id -> count(id, -1));
        return false;
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
        torch.setUndefined(result); // which leaves the gradient as it is
        Change change = changes.get(LibTorch.functionId(function));
        try {
            if (change == null) {
                throw new IllegalStateException("a function on a gradient is unknown");
            }
            change(gradient.address(), change, result);
        } catch (Throwable e) { // whatever it is, it must not reach libtorch
            LOG.log(Level.ERROR, "A gradient was passed on unchanged: it cannot be copied", e);
        }
        return result;
    }

    private void change(long gradient, Change change, MemorySegment result) {
        try (LibTorch.OwnTensor copy = torch.cloneRowMajor(gradient)) {
            MemorySegment memory = torch.memory(copy.address(), change.byteSize);
            try {
                change.action.accept(memory);
            } catch (Throwable e) { // whatever it is, it must not reach libtorch
                LOG.log(Level.ERROR, "A gradient is NaN from here on, for want of another", e);
                memory.fill(NAN);
            }
            copy.swap(result);
        }
    }

    /// @param copies how many libtorch has of the function that stands for it
    private record Change(Consumer<MemorySegment> action, long byteSize, int copies) {}
}
