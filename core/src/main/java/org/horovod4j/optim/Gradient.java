package org.horovod4j.optim;

import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;

/// What a backward pass leaves for a parameter, and what comes back of it.
public sealed interface Gradient {
    record Dense(Tensor tensor) implements Gradient {}

    /// Some rows: the gradient of an embedding.
    record Sparse(SparseTensor rows) implements Gradient {}
}
