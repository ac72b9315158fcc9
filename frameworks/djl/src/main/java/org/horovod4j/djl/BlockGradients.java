package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.training.GradientCollector;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.DataTypes;
import org.horovod4j.djl.engine.EngineAccess;
import org.horovod4j.optim.Gradient;
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

/// The gradients of a block.
///
/// If the engine supports it, gradients are moved into memory shared by all ranks of the host, so
/// that nothing is copied. Otherwise they are used in the memory of the engine. If that is not
/// accessible, as on a GPU, they are copied.
///
/// For a gradient that was never computed, DJL returns a new array of zeros each time. Such a
/// gradient is first defined by a backward pass over a product with zero.
final class BlockGradients implements SparseGradients {
    private final BlockParameters parameters;
    private final EngineAccess access;
    private final BooleanSupplier launchesWhenReady;

    /// The shared memory of each gradient that was moved.
    private final @Nullable Tensor[] slices;

    /// Copies of gradients whose memory is not accessible.
    private final @Nullable Tensor[] copies;

    /// Which of these copies may be zeros of an undefined gradient. On a GPU the two cannot be
    /// distinguished.
    private final boolean[] maybeUndefined;

    /// The dense gradient of the last [#acquire]; null if it was sparse.
    private final @Nullable Tensor[] lastDense;

    /// Reduced gradients that are not in the memory of the engine.
    private final @Nullable NDArray[] reducedCopies;

    private volatile boolean defining;

    /// @param launchesWhenReady whether gradients may be reduced before the step, the same on all
    ///     ranks
    BlockGradients(
            BlockParameters parameters, EngineAccess access, BooleanSupplier launchesWhenReady) {
        this.parameters = parameters;
        this.access = access;
        this.launchesWhenReady = launchesWhenReady;
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
            if (slice != null && isAt(gradient, slice)) {
                return dense(parameter, slice);
            }
        }
        ensureDefined(array);
        try (NDArray gradient = array.getGradient()) {
            return dense(parameter, memoryOf(parameter, gradient));
        }
    }

    private Gradient dense(int parameter, Tensor tensor) {
        lastDense[parameter] = tensor;
        return new Gradient.Dense(tensor);
    }

    /// Moves the gradient back to its shared memory if the engine has moved it.
    private Tensor memoryOf(int parameter, NDArray gradient) {
        Tensor slice = slices[parameter];
        if (slice != null && access.moveInto(gradient, slice.segment())) {
            return slice;
        }
        Optional<MemorySegment> memory = access.memory(gradient);
        if (memory.isPresent() && isDefined(parameters.array(parameter))) {
            return tensor(memory.get(), gradient);
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

    private boolean isAt(NDArray gradient, Tensor slice) {
        return access.memory(gradient)
                .filter(memory -> memory.address() == slice.segment().address())
                .isPresent();
    }

    private static Tensor tensor(MemorySegment memory, NDArray array) {
        return Tensor.of(memory, DataTypes.of(array.getDataType()), DataTypes.shape(array));
    }

    @Override
    public void setReduced(int parameter, Gradient reduced) {
        switch (reduced) {
            case Gradient.Sparse(SparseTensor rows) ->
                    keepReducedCopy(parameter, new SparseResult.Rows(rows).toDense());
            case Gradient.Dense(Tensor tensor) when tensor == copies[parameter] ->
                    writeBack(parameter, tensor);
            case Gradient.Dense(Tensor tensor) when tensor != lastDense[parameter] ->
                    keepReducedCopy(parameter, tensor);
            case Gradient.Dense _ -> {} // in the memory of the engine
        }
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
        access.write(reduced, tensor.segment());
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

    /// Moves gradients into memory shared by the ranks of this host, unless they are there already.
    /// Must not be called during a reduction.
    ///
    /// @param isShared which parameters are reduced
    void moveToSharedMemory(Communicator communicator, IntPredicate isShared) {
        int[] moving =
                parameters.trainable().stream()
                        .filter(i -> slices[i] == null && isShared.test(i))
                        .filter(i -> isMovable(parameters.array(i)))
                        .toArray();
        if (moving.length == 0) {
            return;
        }
        List<NDArray> arrays = Arrays.stream(moving).mapToObj(parameters::array).toList();
        List<Tensor> places = GradientArena.allocate(communicator, arrays);
        for (int i = 0; i < moving.length; i++) {
            try (NDArray gradient = arrays.get(i).getGradient()) {
                if (access.moveInto(gradient, places.get(i).segment())) {
                    slices[moving[i]] = places.get(i);
                    GradientArena.retain(arrays.get(i), places.get(i));
                }
            }
        }
    }

    private boolean isMovable(NDArray array) {
        try (NDArray gradient = array.getGradient()) {
            return access.memory(gradient).isPresent() && isDefined(array);
        }
    }

    /// Whether the engine keeps a gradient, and does not return new zeros each time. If its memory
    /// is not accessible, true is assumed.
    private boolean isDefined(NDArray array) {
        try (NDArray one = array.getGradient();
                NDArray other = array.getGradient()) {
            Optional<MemorySegment> memory = access.memory(one);
            return memory.isEmpty() || memory.equals(access.memory(other));
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
