package org.horovod4j.djl.engine;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.util.NativeResource;

import com.sun.jna.Pointer;

import org.horovod4j.SparseTensor;
import org.horovod4j.option.HookChoice;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// MXNet: the memory of arrays on the host, by calls into its library. MXNet computes behind the
/// program's back, so whoever wants an array waits for it; that is also how backward overlaps with
/// communication, and there are no hooks.
final class MxNetAccess implements EngineAccess {
    private static final Lazy<EngineAccess> OF_THIS_PROCESS = new Lazy<>(MxNetAccess::open);

    private final LibMxNet mxnet;

    private MxNetAccess(LibMxNet mxnet) {
        this.mxnet = mxnet;
    }

    /// The access to the MXNet of this process, found when first asked for.
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

    /// Waits for what computes the array and for what computes with it, since the memory may be
    /// written to.
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
                "no array of engine MXNet, but a %s".formatted(array.getClass().getName()));
    }

    @Override
    public boolean moveInto(NDArray array, MemorySegment memory) {
        SizeCheck.requireSameSize("moveInto", array, memory);
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

    /// DJL attaches gradients so that each pass writes them.
    @Override
    public boolean accumulates() {
        return false;
    }

    @Override
    public BackwardHooks hooks(HookChoice choice) {
        return new BackwardHooks.Unavailable(
                "engine MXNet has no hooks; it computes backward while the program goes on");
    }
}
