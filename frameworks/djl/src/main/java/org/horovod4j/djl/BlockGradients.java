package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.training.GradientCollector;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.Shape;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.DataTypes;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.optim.Gradient;
import org.horovod4j.optim.GradientArena;
import org.horovod4j.optim.GradientLayout;
import org.horovod4j.optim.SparseGradients;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;
import java.util.function.Predicate;

/// The gradients of a block.
///
/// If the engine supports it, gradients are moved into memory shared by all ranks of the host, so
/// that nothing is copied, or into memory that Horovod4J allocates on their GPU. Otherwise they are
/// used in the memory of the engine. If that is not accessible, they are copied.
///
/// For a gradient that was never computed, DJL returns a new array of zeros each time. Such a
/// gradient is first defined by a backward pass over a product with zero.
final class BlockGradients implements SparseGradients {
    private final BlockParameters parameters;
    private final EngineAccess access;
    private final BooleanSupplier launchesWhenReady;

    /// Whether collectives can use gradients on their device.
    private final Predicate<Device> usesDevice;

    /// The memory of each gradient that was moved.
    private final @Nullable Tensor[] slices;

    /// Copies of gradients whose memory is not accessible.
    private final @Nullable Tensor[] copies;

    /// Which of these copies may be zeros of an undefined gradient. If its memory is not accessible,
    /// the two cannot be distinguished.
    private final boolean[] maybeUndefined;

    /// The dense gradient of the last [#acquire]; null if it was sparse.
    private final @Nullable Tensor[] lastDense;

    /// Reduced gradients that are not in the memory of the engine.
    private final @Nullable NDArray[] reducedCopies;

    private volatile boolean defining;

    /// @param launchesWhenReady whether gradients may be reduced before the step, the same on all
    ///     ranks
    /// @param usesDevice whether collectives can use tensors on a device
    BlockGradients(
            BlockParameters parameters,
            EngineAccess access,
            BooleanSupplier launchesWhenReady,
            Predicate<Device> usesDevice) {
        this.parameters = parameters;
        this.access = access;
        this.launchesWhenReady = launchesWhenReady;
        this.usesDevice = usesDevice;
        this.slices = new Tensor[parameters.count()];
        this.copies = new Tensor[parameters.count()];
        this.maybeUndefined = new boolean[parameters.count()];
        this.lastDense = new Tensor[parameters.count()];
        this.reducedCopies = new NDArray[parameters.count()];
    }

    @Override
    public List<String> names() {
        return parameters.names();
    }

    @Override
    public Optional<Tensor> value(int parameter) {
        return parameters.replicatedValue(parameter);
    }

    @Override
    public boolean isTrainable(int parameter) {
        return parameters.isTrainable(parameter);
    }

    @Override
    public boolean canAcquireDuringBackward() {
        return launchesWhenReady.getAsBoolean();
    }

    @Override
    public GradientLayout layout(int parameter) {
        NDArray array = parameters.array(parameter);
        try (NDArray gradient = array.getGradient()) {
            if (gradient.isSparse()) {
                return GradientLayout.SPARSE;
            }
        }
        return isDefined(array) ? GradientLayout.DENSE : GradientLayout.UNKNOWN;
    }

    /// Leaves the gradient undefined: if it were dense, the engine would add rows to it and keep it
    /// dense.
    @Override
    public SparseTensor acquireEmpty(int parameter) {
        lastDense[parameter] = null;
        NDArray array = parameters.array(parameter);
        Shape whole = DataTypes.shape(array);
        return new SparseTensor(
                Tensor.zeros(DataType.INT64, Shape.of(0)),
                Tensor.zeros(DataTypes.of(array.getDataType()), whole.withRows(0)),
                whole);
    }

    @Override
    public Gradient acquire(int parameter) {
        NDArray array = parameters.array(parameter);
        lastDense[parameter] = null;
        try (NDArray gradient = array.getGradient()) {
            access.await(gradient);
            Optional<SparseTensor> rows = access.sparse(gradient);
            if (rows.isPresent()) {
                return new Gradient.Sparse(rows.get());
            }
            Tensor slice = slices[parameter];
            Optional<Tensor> memory = memory(gradient);
            if (slice != null && memory.isPresent() && isAt(slice, memory.get())) {
                return dense(parameter, ready(slice, memory.get()));
            }
        }
        ensureDefined(array);
        try (NDArray gradient = array.getGradient()) {
            return dense(parameter, memoryOf(parameter, gradient));
        }
    }

    /// The elements in the memory of the engine, if collectives can use them there.
    private Optional<Tensor> memory(NDArray array) {
        return access.tensor(array)
                .filter(tensor -> tensor.device().isHost() || usesDevice.test(tensor.device()));
    }

    /// The stream of the device of the gradients, if collectives use them there.
    @Override
    public Optional<DeviceStream> stream() {
        return parameters.trainable().stream()
                .mapToObj(parameters::array)
                .findFirst()
                .flatMap(array -> access.stream(array.getDevice()))
                .filter(stream -> usesDevice.test(stream.device()));
    }

    /// Also if this rank copies its gradients: all ranks must have the same buckets.
    @Override
    public long bytesOnDevice(int parameter) {
        if (!parameters.isInitialized(parameter)) {
            return 0;
        }
        NDArray array = parameters.array(parameter);
        return array.getDevice().isGpu() ? DataTypes.byteSize(array) : 0;
    }

    @Override
    public void scale(Tensor gradient, double factor) {
        int parameter = Arrays.asList(lastDense).indexOf(gradient);
        try (NDArray array = parameters.array(parameter).getGradient()) {
            NDArray _ = array.muli(factor);
        }
    }

    private Gradient dense(int parameter, Tensor tensor) {
        lastDense[parameter] = tensor;
        return new Gradient.Dense(tensor);
    }

    /// Moves the gradient back to its slice if the engine has moved it.
    private Tensor memoryOf(int parameter, NDArray gradient) {
        Tensor slice = slices[parameter];
        boolean isMoved = slice != null && access.moveInto(gradient, slice);
        Optional<Tensor> memory = memory(gradient);
        if (slice != null && isMoved && memory.isPresent()) {
            return ready(slice, memory.get());
        }
        if (memory.isPresent() && isDefined(parameters.array(parameter))) {
            return memory.get();
        }
        Tensor copy = copies[parameter];
        if (copy == null) {
            copy = Tensor.zeros(DataTypes.of(gradient.getDataType()), DataTypes.shape(gradient));
            copies[parameter] = copy;
        }
        access.read(gradient, copy.segment());
        maybeUndefined[parameter] = memory.isEmpty() && isZero(copy.segment());
        return copy;
    }

    /// Whether the last byte is zero and each byte equals the next one.
    private static boolean isZero(MemorySegment memory) {
        long last = memory.byteSize() - 1;
        if (last < 0) {
            return true;
        }
        return memory.get(ValueLayout.JAVA_BYTE, last) == 0
                && memory.asSlice(0, last).mismatch(memory.asSlice(1)) < 0;
    }

    private static boolean isAt(Tensor slice, Tensor gradient) {
        return address(slice) == address(gradient);
    }

    /// The slice, when the stream that computes the gradient has done so.
    private static Tensor ready(Tensor slice, Tensor gradient) {
        return gradient.producer().map(slice::readyOn).orElse(slice);
    }

    private static long address(Tensor tensor) {
        return tensor.device().isHost() ? tensor.segment().address() : tensor.deviceAddress();
    }

    @Override
    public void setReduced(int parameter, Gradient reduced) {
        switch (reduced) {
            case Gradient.Sparse(SparseTensor rows) ->
                    keepReducedCopy(parameter, new SparseResult.Rows(rows).toDense());
            case Gradient.Dense(Tensor tensor) when tensor == copies[parameter] ->
                    writeBack(parameter, tensor);
            case Gradient.Dense(Tensor tensor) when !isLast(parameter, tensor) ->
                    keepReducedCopy(parameter, tensor);
            case Gradient.Dense _ -> {} // in the memory of the engine
        }
    }

    /// Whether this is the dense gradient of the last [#acquire]. On a device the result of an operation is
    /// another object, without the stream, for the same memory.
    private boolean isLast(int parameter, Tensor tensor) {
        Tensor last = lastDense[parameter];
        return tensor == last
                || (last != null
                        && !tensor.device().isHost()
                        && tensor.device().equals(last.device())
                        && isAt(tensor, last));
    }

    private void writeBack(int parameter, Tensor tensor) {
        boolean isDefined = isDefined(parameters.array(parameter));
        if (isDefined) {
            try (NDArray gradient = parameters.array(parameter).getGradient()) {
                access.write(gradient, tensor.segment());
            }
        }
        if (!isDefined || maybeUndefined[parameter]) {
            keepReducedCopy(parameter, tensor);
        }
    }

    private void keepReducedCopy(int parameter, Tensor tensor) {
        NDArray array = parameters.array(parameter);
        NDArray reduced = array.getManager().zeros(array.getShape(), array.getDataType());
        access.write(reduced, tensor);
        NDArray before = reducedCopies[parameter];
        if (before != null) {
            before.close();
        }
        reducedCopies[parameter] = reduced;
    }

    /// The gradient that the optimizer applies; that of this rank if nothing was reduced. It is
    /// dense, since DJL's optimizers do not support sparse gradients. The caller closes it.
    NDArray gradientToApply(int parameter) {
        NDArray reduced = reducedCopies[parameter];
        if (reduced != null) {
            reducedCopies[parameter] = null;
            return reduced;
        }
        NDArray own = parameters.array(parameter).getGradient();
        if (!own.isSparse()) {
            return own;
        }
        try (own) {
            return own.toDense();
        }
    }

    /// Sets all gradients to zero. Dense ones are overwritten, because arithmetic would keep NaN.
    void clear() {
        parameters.trainable().stream().forEach(this::clear);
    }

    void clear(int parameter) {
        try (NDArray gradient = parameters.array(parameter).getGradient()) {
            if (access.sparse(gradient).isPresent()) {
                NDArray _ = gradient.subi(gradient);
            } else {
                TensorView view = TensorView.of(gradient);
                view.tensor().segment().fill((byte) 0);
                view.writeBack();
            }
        }
    }

    /// Moves gradients into memory shared by the ranks of this host, or on a GPU into memory of
    /// Horovod4J, unless they are there already. Must not be called during a reduction.
    ///
    /// @param isShared which parameters are reduced
    void moveToOwnMemory(Communicator communicator, IntPredicate isShared) {
        int[] moving =
                parameters.trainable().stream()
                        .filter(i -> slices[i] == null && isShared.test(i))
                        .filter(i -> isMovable(parameters.array(i)))
                        .toArray();
        if (moving.length == 0) {
            return;
        }
        List<NDArray> arrays = Arrays.stream(moving).mapToObj(parameters::array).toList();
        Device device = stream().map(DeviceStream::device).orElse(Device.HOST);
        List<Tensor> places = GradientArena.allocate(communicator, device, specs(arrays));
        for (int i = 0; i < moving.length; i++) {
            try (NDArray gradient = arrays.get(i).getGradient()) {
                if (access.moveInto(gradient, places.get(i))) {
                    slices[moving[i]] = places.get(i);
                    retain(arrays.get(i), places.get(i));
                }
            }
        }
    }

    static List<GradientArena.Spec> specs(List<NDArray> arrays) {
        return arrays.stream()
                .map(
                        array ->
                                new GradientArena.Spec(
                                        DataTypes.of(array.getDataType()), DataTypes.shape(array)))
                .toList();
    }

    /// Keeps the slice reachable as long as the array's manager is open, or until its gradient
    /// moves to another slice: the engine keeps the gradient there, even after training.
    private static void retain(NDArray array, Tensor slice) {
        String key = "horovod4j-gradient-" + array.getUid();
        NDManager manager = array.getManager();
        manager.detachInternal(key);
        manager.attachInternal(key, new Retained(slice));
    }

    /// A reference to a slice, and so to its block.
    private record Retained(Tensor slice) implements AutoCloseable {
        /// Frees nothing: other managers may have gradients in the same block.
        @Override
        public void close() {}
    }

    private boolean isMovable(NDArray array) {
        try (NDArray gradient = array.getGradient()) {
            return memory(gradient).isPresent() && isDefined(array);
        }
    }

    /// Whether the engine keeps a gradient, and does not return new zeros each time. If its memory
    /// is not accessible, true is assumed.
    private boolean isDefined(NDArray array) {
        try (NDArray one = array.getGradient();
                NDArray other = array.getGradient()) {
            Optional<Tensor> memory = memory(one);
            return memory.isEmpty()
                    || memory(other).filter(again -> isAt(memory.get(), again)).isPresent();
        }
    }

    private void ensureDefined(NDArray array) {
        if (isDefined(array)) {
            return;
        }
        defining = true;
        try (GradientCollector collector = array.getManager().getEngine().newGradientCollector();
                NDArray sum = array.sum();
                // an array: DJL may free a number before backward reads it
                NDArray zero = sum.getManager().zeros(sum.getShape(), sum.getDataType());
                NDArray nothing = sum.mul(zero)) {
            collector.backward(nothing);
        } catch (IllegalStateException _) {
            // the program is collecting gradients; the reduced gradient is then kept separately
        } finally {
            defining = false;
        }
    }

    /// Whether the current backward pass only defines a gradient.
    boolean isDefining() {
        return defining;
    }
}
