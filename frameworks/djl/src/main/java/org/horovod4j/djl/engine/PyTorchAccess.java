package org.horovod4j.djl.engine;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.util.NativeResource;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.libtorch.DeferredFailures;
import org.horovod4j.libtorch.TorchRuntime;
import org.horovod4j.libtorch.TorchTensors;
import org.horovod4j.option.HookChoice;

import java.lang.foreign.MemorySegment;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;

/// PyTorch: direct access to the memory of host tensors, copies of others, and hooks, through libtorch.
final class PyTorchAccess implements EngineAccess {
    static final String ENGINE = "PyTorch";

    /// DJL has loaded the library when there is an array of this engine.
    static final String LIBRARY = "libtorch_cpu.so";

    private static final Lazy<EngineAccess> OF_THIS_PROCESS = new Lazy<>(PyTorchAccess::open);

    private final TorchRuntime runtime;
    private final TorchTensors torch;
    private final DeferredFailures deferredFailures;
    private final Map<HookChoice, BackwardHooks> hooks = new EnumMap<>(HookChoice.class);

    private PyTorchAccess(TorchRuntime runtime) {
        this.runtime = runtime;
        this.torch = runtime.tensors();
        this.deferredFailures = runtime.deferredFailures();
    }

    /// The access to the libtorch of this process, of which there is one.
    static EngineAccess ofThisProcess() {
        return OF_THIS_PROCESS.get();
    }

    private static EngineAccess open() {
        try {
            return new PyTorchAccess(TorchRuntime.open(LIBRARY));
        } catch (UnsupportedOperationException e) {
            return new CopyingAccess(ENGINE, true, String.valueOf(e.getMessage()));
        }
    }

    @Override
    public Optional<MemorySegment> memory(NDArray array) {
        if (array.isSparse() || !isOnHost(array)) {
            return Optional.empty();
        }
        long tensor = handle(array);
        return torch.isRowMajor(tensor)
                ? Optional.of(torch.memory(tensor, DataTypes.byteSize(array)))
                : Optional.empty();
    }

    /// Copies with libtorch: DJL would keep its copy of an array on a GPU until the manager is closed.
    @Override
    public void read(NDArray array, MemorySegment into) {
        CopyCheck.requireSameSize("read", array, into);
        if (array.isSparse()) {
            try (NDArray dense = array.toDense()) {
                torch.read(handle(dense), into);
            }
        } else {
            memory(array).ifPresentOrElse(into::copyFrom, () -> torch.read(handle(array), into));
        }
    }

    @Override
    public void write(NDArray array, MemorySegment from) {
        CopyCheck.requireSameSize("write", array, from);
        CopyCheck.requireDense(array);
        memory(array)
                .ifPresentOrElse(
                        memory -> memory.copyFrom(from), () -> torch.write(handle(array), from));
    }

    private static boolean isOnHost(NDArray array) {
        return array.getDevice().equals(Device.cpu());
    }

    /// The address of the array's `at::Tensor`.
    static long handle(NDArray array) {
        if (array instanceof NativeResource<?> resource
                && resource.getHandle() instanceof Long handle) {
            return handle;
        }
        throw new IllegalArgumentException(
                "expected an array of engine PyTorch, not a %s"
                        .formatted(array.getClass().getName()));
    }

    @Override
    public boolean moveInto(NDArray array, MemorySegment memory) {
        CopyCheck.requireSameSize("moveInto", array, memory);
        if (!memory.isNative()) {
            throw new IllegalArgumentException(
                    "moveInto: an array cannot be moved into memory on the heap");
        }
        if (array.isSparse() || !isOnHost(array)) {
            return false;
        }
        read(array, memory);
        torch.setMemory(handle(array), memory);
        return true;
    }

    /// Host tensors are computed synchronously.
    @Override
    public void await(NDArray array) {}

    @Override
    public Optional<SparseTensor> sparse(NDArray array) {
        if (!array.isSparse()) {
            return Optional.empty();
        }
        if (isOnHost(array)) {
            return Optional.of(rows(array));
        }
        try (NDArray onHost = array.toDevice(Device.cpu(), true)) {
            return Optional.of(rows(onHost));
        }
    }

    private SparseTensor rows(NDArray array) {
        try (TorchTensors.OwnedTensor indices = torch.indices(handle(array));
                TorchTensors.OwnedTensor values = torch.values(handle(array))) {
            long[] sizes = torch.sizes(indices.address());
            if (sizes[0] != 1) {
                throw new IllegalArgumentException(
                        """
                        a sparse gradient of shape %s has single elements with %d indices each, not rows
                        Let the network compute it dense, as an embedding with SparseFormat.DENSE does."""
                                .formatted(array.getShape(), sizes[0]));
            }
            Shape denseShape = DataTypes.shape(array);
            return new SparseTensor(
                    copy(indices, DataType.INT64, Shape.of(sizes[1])),
                    copy(values, DataTypes.of(array.getDataType()), denseShape.withRows(sizes[1])),
                    denseShape);
        }
    }

    private Tensor copy(TorchTensors.OwnedTensor tensor, DataType dataType, Shape shape) {
        Tensor copy = Tensor.zeros(dataType, shape);
        try (TorchTensors.OwnedTensor dense = torch.cloneRowMajor(tensor.address())) {
            copy.segment().copyFrom(dense.memory());
        }
        return copy;
    }

    @Override
    public boolean accumulates() {
        return true;
    }

    @Override
    public synchronized BackwardHooks hooks(HookChoice choice) {
        return hooks.computeIfAbsent(choice, _ -> PyTorchHooks.open(runtime, choice));
    }

    @Override
    public void rethrow() {
        deferredFailures.rethrow();
    }
}
