package org.horovod4j.djl.engine;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.util.NativeResource;

import com.sun.jna.Pointer;

import org.horovod4j.SparseTensor;
import org.horovod4j.option.HookChoice;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// MXNet: direct access to the memory of host arrays. MXNet computes asynchronously, so a caller waits
/// for an array. That is also how backward overlaps with communication; there are no hooks.
final class MxNetAccess implements EngineAccess {
    private static final Lazy<EngineAccess> OF_THIS_PROCESS = new Lazy<>(MxNetAccess::open);

    private final LibMxNet mxnet;

    private MxNetAccess(LibMxNet mxnet) {
        this.mxnet = mxnet;
    }

    /// The access to the MXNet library of this process, opened at the first call.
    static EngineAccess ofThisProcess() {
        return OF_THIS_PROCESS.get();
    }

    private static EngineAccess open() {
        try {
            return new MxNetAccess(LibMxNet.find());
        } catch (UnsupportedOperationException e) {
            return new CopyingAccess("MXNet", false, String.valueOf(e.getMessage()));
        }
    }

    /// Waits for pending reads and writes of the array, since the caller may write to its memory.
    @Override
    public Optional<MemorySegment> memory(NDArray array) {
        if (array.isSparse() || !array.getDevice().equals(Device.cpu())) {
            return Optional.empty();
        }
        return Optional.of(mxnet.memory(handle(array), DataTypes.byteSize(array)));
    }

    private static long handle(NDArray array) {
        if (array instanceof NativeResource<?> resource
                && resource.getHandle() instanceof Pointer handle) {
            return Pointer.nativeValue(handle);
        }
        throw new IllegalArgumentException(
                "expected an array of engine MXNet, not a %s"
                        .formatted(array.getClass().getName()));
    }

    @Override
    public boolean moveInto(NDArray array, MemorySegment memory) {
        CopyCheck.requireSameSize("moveInto", array, memory);
        return false;
    }

    @Override
    public void await(NDArray array) {
        mxnet.waitToRead(handle(array));
    }

    @Override
    public Optional<SparseTensor> sparse(NDArray array) {
        if (array.isSparse()) {
            throw new UnsupportedOperationException(
                    "the rows of a sparse array of engine MXNet cannot be read; make it dense first");
        }
        return Optional.empty();
    }

    /// DJL attaches gradients in a mode in which each pass overwrites them.
    @Override
    public boolean accumulates() {
        return false;
    }

    @Override
    public BackwardHooks hooks(HookChoice choice) {
        return new BackwardHooks.Unavailable(
                "engine MXNet has no hooks; it computes backward asynchronously");
    }
}
