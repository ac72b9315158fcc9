package org.horovod4j.pytorch;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.Shape;
import org.horovod4j.SparseTensor;
import org.horovod4j.optim.Gradient;
import org.horovod4j.optim.GradientArena;
import org.horovod4j.optim.GradientLayout;
import org.horovod4j.optim.SparseGradients;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/// The gradients of parameters.
///
/// After the first step, gradients in main memory are in memory shared by all ranks of the host, so that
/// nothing is copied. If the program sets a gradient to undefined, or autograd replaces it, it is moved
/// back there in the next reduction. Gradients on a device are copied.
final class ParameterGradients implements SparseGradients {
    private final List<String> names;
    private final List<Tensor> parameters;
    private final BooleanSupplier launchesWhenReady;

    /// The memory of each gradient that was moved.
    private final org.horovod4j.@Nullable Tensor[] slices;

    /// The dense gradient of the last [#acquire], and whether it is a copy.
    private final org.horovod4j.@Nullable Tensor[] lastDense;

    private final boolean[] isCopy;

    /// Gradients that were sparse at the last [#acquire].
    private final boolean[] wasSparse;

    /// @param launchesWhenReady whether gradients may be reduced before the step, the same on all ranks
    ParameterGradients(Map<String, Tensor> parameters, BooleanSupplier launchesWhenReady) {
        this.names = List.copyOf(parameters.keySet());
        this.parameters = List.copyOf(parameters.values());
        this.launchesWhenReady = launchesWhenReady;
        this.slices = new org.horovod4j.Tensor[names.size()];
        this.lastDense = new org.horovod4j.Tensor[names.size()];
        this.isCopy = new boolean[names.size()];
        this.wasSparse = new boolean[names.size()];
    }

    @Override
    public List<String> names() {
        return names;
    }

    Tensor parameter(int parameter) {
        return parameters.get(parameter);
    }

    @Override
    public boolean isTrainable(int parameter) {
        return parameters.get(parameter).requires_grad();
    }

    IntStream trainable() {
        return IntStream.range(0, names.size()).filter(this::isTrainable);
    }

    @Override
    public boolean canAcquireDuringBackward() {
        return launchesWhenReady.getAsBoolean();
    }

    @Override
    public Optional<org.horovod4j.Tensor> value(int parameter) {
        return Optional.of(TensorMemory.view(parameters.get(parameter)));
    }

    @Override
    public GradientLayout layout(int parameter) {
        try (Tensor gradient = parameters.get(parameter).grad()) {
            if (!gradient.defined()) {
                return GradientLayout.UNKNOWN;
            }
            return gradient.is_sparse() ? GradientLayout.SPARSE : GradientLayout.DENSE;
        }
    }

    @Override
    public SparseTensor acquireEmpty(int parameter) {
        Tensor weight = parameters.get(parameter);
        Shape whole = TorchTypes.shape(weight);
        setAcquired(parameter, null);
        return new SparseTensor(
                org.horovod4j.Tensor.zeros(DataType.INT64, Shape.of(0)),
                org.horovod4j.Tensor.zeros(TorchTypes.of(weight), whole.withRows(0)),
                whole);
    }

    @Override
    public Gradient acquire(int parameter) {
        try (Tensor gradient = parameters.get(parameter).grad()) {
            if (!gradient.defined()) {
                return acquireZero(parameter);
            }
            if (gradient.is_sparse()) {
                setAcquired(parameter, null);
                return new Gradient.Sparse(rows(parameter, gradient));
            }
            org.horovod4j.Tensor slice = slices[parameter];
            if (slice == null) {
                return denseWhereItIs(parameter, gradient);
            }
            if (TensorMemory.inPlace(gradient)
                    .filter(elements -> isAt(slice, elements))
                    .isEmpty()) {
                moveInto(slice, parameter, gradient);
            }
            return dense(parameter, slice);
        }
    }

    /// Defines a gradient of zeros: other ranks may have used the parameter.
    private Gradient acquireZero(int parameter) {
        Tensor weight = parameters.get(parameter);
        org.horovod4j.Tensor slice = slices[parameter];
        if (slice != null) {
            slice.segment().fill((byte) 0);
            setGradient(parameter, TensorMemory.over(slice));
            return dense(parameter, slice);
        }
        setGradient(parameter, torch.zeros_like(weight));
        try (Tensor zeros = weight.grad()) {
            return denseWhereItIs(parameter, zeros);
        }
    }

    /// The gradient in its own memory if that is in row-major order, and a copy otherwise.
    private Gradient denseWhereItIs(int parameter, Tensor gradient) {
        return TensorMemory.inPlace(gradient)
                .map(elements -> dense(parameter, elements))
                .orElseGet(() -> denseCopy(parameter, gradient));
    }

    private void moveInto(org.horovod4j.Tensor slice, int parameter, Tensor gradient) {
        TensorMemory.read(gradient, slice);
        setGradient(parameter, TensorMemory.over(slice));
    }

    /// Replaces the gradient, and closes `gradient`: libtorch has its own reference.
    private void setGradient(int parameter, Tensor gradient) {
        try (gradient) {
            parameters.get(parameter).mutable_grad().put(gradient);
        }
    }

    private Gradient denseCopy(int parameter, Tensor gradient) {
        Gradient copy = dense(parameter, TensorMemory.copy(gradient));
        isCopy[parameter] = true;
        return copy;
    }

    private Gradient dense(int parameter, org.horovod4j.Tensor tensor) {
        setAcquired(parameter, tensor);
        return new Gradient.Dense(tensor);
    }

    /// @param tensor null if the gradient is sparse
    private void setAcquired(int parameter, org.horovod4j.@Nullable Tensor tensor) {
        lastDense[parameter] = tensor;
        isCopy[parameter] = false;
        wasSparse[parameter] = tensor == null;
    }

    private static boolean isAt(org.horovod4j.Tensor slice, org.horovod4j.Tensor elements) {
        return slice.segment().address() == elements.segment().address();
    }

    private SparseTensor rows(int parameter, Tensor gradient) {
        try (Tensor indices = gradient._indices();
                Tensor values = gradient._values()) {
            Shape places = TorchTypes.shape(indices);
            if (places.dimension(0) != 1) {
                throw new IllegalArgumentException(
                        """
                        the sparse gradient of '%s' has single elements with %d indices each, not rows
                        Let the network compute it dense, or use sparse gradients of embeddings only."""
                                .formatted(names.get(parameter), places.dimension(0)));
            }
            long count = places.dimension(1);
            org.horovod4j.Tensor numbers = TensorMemory.copy(indices);
            return new SparseTensor(
                    org.horovod4j.Tensor.of(numbers.segment(), DataType.INT64, Shape.of(count)),
                    TensorMemory.copy(values),
                    TorchTypes.shape(parameters.get(parameter)));
        }
    }

    @Override
    public void setReduced(int parameter, Gradient reduced) {
        switch (reduced) {
            case Gradient.Sparse(SparseTensor rows) -> replaceGradient(parameter, sparse(rows));
            case Gradient.Dense(org.horovod4j.Tensor tensor) when tensor != lastDense[parameter] ->
                    replaceGradient(parameter, TensorMemory.newTensor(tensor));
            case Gradient.Dense(org.horovod4j.Tensor tensor) when isCopy[parameter] -> {
                try (Tensor gradient = parameters.get(parameter).grad()) {
                    TensorMemory.write(gradient, tensor);
                }
            }
            case Gradient.Dense _ -> {} // in the memory of the gradient
        }
    }

    /// Moves a tensor in main memory to the device of the parameter, and closes it.
    private void replaceGradient(int parameter, Tensor gradient) {
        Tensor weight = parameters.get(parameter);
        try (gradient) {
            setGradient(parameter, gradient.to(weight.device(), weight.scalar_type()));
        }
    }

    private static Tensor sparse(SparseTensor rows) {
        org.horovod4j.Tensor places =
                org.horovod4j.Tensor.of(
                        rows.indices().segment(), DataType.INT64, Shape.of(1, rows.rowCount()));
        try (Tensor indices = TensorMemory.newTensor(places);
                Tensor values = TensorMemory.newTensor(rows.values())) {
            return torch.sparse_coo_tensor(indices, values, TorchTypes.sizes(rows.denseShape()));
        }
    }

    /// Sets dense gradients to zero in their memory, and sparse ones to undefined: a dense gradient of
    /// zeros would stay dense.
    void clear() {
        trainable().forEach(this::clear);
    }

    private void clear(int parameter) {
        try (Tensor gradient = parameters.get(parameter).grad()) {
            if (!gradient.defined()) {
                return;
            }
            if (gradient.is_sparse() || wasSparse[parameter]) {
                parameters.get(parameter).mutable_grad().reset();
            } else {
                gradient.detach_().zero_(); // a backward pass may have recorded it
            }
        }
    }

    /// Moves dense gradients into memory shared by the ranks of this host, unless they are there already.
    /// Must not be called during a reduction.
    ///
    /// @param isShared which parameters are reduced
    void moveToSharedMemory(Communicator communicator, IntPredicate isShared) {
        int[] moving =
                trainable()
                        .filter(i -> slices[i] == null && isShared.test(i) && isMovable(i))
                        .toArray();
        if (moving.length == 0) {
            return;
        }
        List<GradientArena.Spec> specs =
                Arrays.stream(moving)
                        .mapToObj(parameters::get)
                        .map(it -> new GradientArena.Spec(TorchTypes.of(it), TorchTypes.shape(it)))
                        .toList();
        List<org.horovod4j.Tensor> places =
                GradientArena.allocate(communicator, Device.HOST, specs);
        for (int i = 0; i < moving.length; i++) {
            slices[moving[i]] = places.get(i);
            try (Tensor gradient = parameters.get(moving[i]).grad()) {
                moveInto(places.get(i), moving[i], gradient);
            }
        }
    }

    private boolean isMovable(int parameter) {
        try (Tensor gradient = parameters.get(parameter).grad()) {
            return gradient.defined()
                    && !gradient.is_sparse()
                    && !wasSparse[parameter]
                    && gradient.is_cpu()
                    && gradient.numel() > 0;
        }
    }
}
