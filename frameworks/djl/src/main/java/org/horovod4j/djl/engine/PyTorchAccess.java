package org.horovod4j.djl.engine;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.util.NativeResource;

import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;
import org.horovod4j.Shape;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.libtorch.DeferredFailures;
import org.horovod4j.libtorch.TorchCuda;
import org.horovod4j.libtorch.TorchRuntime;
import org.horovod4j.libtorch.TorchTensors;
import org.horovod4j.log.Log;
import org.horovod4j.option.HookChoice;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;

/// PyTorch: direct access to the memory of tensors on the host and on NVIDIA GPUs, copies of others,
/// and hooks, through libtorch.
final class PyTorchAccess implements EngineAccess {
    private static final Logger LOG = Log.of(PyTorchAccess.class);

    static final String ENGINE = "PyTorch";

    /// DJL has loaded the library when there is an array of this engine.
    static final String LIBRARY = "libtorch_cpu.so";

    private static final Lazy<EngineAccess> OF_THIS_PROCESS = new Lazy<>(PyTorchAccess::open);

    private final TorchRuntime runtime;
    private final TorchTensors torch;
    private final DeferredFailures deferredFailures;
    private final Lazy<Optional<TorchCuda>> cuda = new Lazy<>(this::openCuda);
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

    private Optional<TorchCuda> openCuda() {
        try {
            return Optional.of(TorchCuda.open(runtime));
        } catch (UnsupportedOperationException e) {
            LOG.log(
                    Level.WARNING,
                    "Arrays on a GPU are copied through main memory: {0}",
                    e.getMessage());
            return Optional.empty();
        }
    }

    /// The functions for arrays on an NVIDIA GPU.
    private Optional<TorchCuda> cuda(Device device) {
        return device.getDeviceType().equals(Device.Type.GPU) ? cuda.get() : Optional.empty();
    }

    @Override
    public Optional<Tensor> tensor(NDArray array) {
        Optional<TorchCuda> gpu = cuda(array.getDevice());
        if (gpu.isEmpty() || array.isSparse()) {
            return EngineAccess.super.tensor(array);
        }
        long tensor = handle(array);
        if (!torch.isRowMajor(tensor)) {
            return Optional.empty();
        }
        org.horovod4j.Device device = device(array.getDevice());
        return Optional.of(
                Tensor.of(
                                device,
                                torch.address(tensor),
                                DataTypes.of(array.getDataType()),
                                DataTypes.shape(array))
                        .readyOn(stream(gpu.get(), device)));
    }

    @Override
    public Optional<DeviceStream> stream(Device device) {
        return cuda(device).map(gpu -> stream(gpu, device(device)));
    }

    private static DeviceStream stream(TorchCuda gpu, org.horovod4j.Device device) {
        return new DeviceStream(device, gpu.currentStream(device.index()));
    }

    private static org.horovod4j.Device device(Device gpu) {
        return org.horovod4j.Device.cuda(gpu.getDeviceId());
    }

    @Override
    public void read(NDArray array, Tensor into) {
        if (into.device().isHost()) {
            read(array, into.segment());
        } else if (array.isSparse()) {
            try (NDArray dense = array.toDense()) {
                read(dense, into);
            }
        } else {
            requireSame("read", array, into).read(handle(array), into.deviceAddress());
        }
    }

    @Override
    public void write(NDArray array, Tensor from) {
        CopyCheck.requireDense(array);
        if (from.device().isHost()) {
            write(array, from.segment());
        } else {
            requireSame("write", array, from).write(handle(array), from.deviceAddress());
        }
    }

    @Override
    public boolean moveInto(NDArray array, Tensor place) {
        if (place.device().isHost()) {
            return moveInto(array, place.segment());
        }
        if (array.isSparse()) {
            return false;
        }
        requireSame("moveInto", array, place).moveInto(handle(array), place.deviceAddress());
        return true;
    }

    /// Prevents a copy outside the memory of a GPU.
    private TorchCuda requireSame(String action, NDArray array, Tensor tensor) {
        CopyCheck.requireSameSize(action, array, tensor.byteSize());
        return cuda(array.getDevice())
                .filter(_ -> device(array.getDevice()).equals(tensor.device()))
                .orElseThrow(
                        () ->
                                new IllegalArgumentException(
                                        "%s: the array %s is on %s, but the tensor is on %s"
                                                .formatted(
                                                        action,
                                                        array.getShape(),
                                                        array.getDevice(),
                                                        tensor.device())));
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

    /// Host tensors are computed synchronously, and those of a GPU carry their stream.
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
