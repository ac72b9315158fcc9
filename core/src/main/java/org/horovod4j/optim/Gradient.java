package org.horovod4j.optim;

import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;

/// The gradient of a parameter, before or after its reduction.
public sealed interface Gradient {
    record Dense(Tensor tensor) implements Gradient {}

    /// Some rows, as of an embedding.
    record Sparse(SparseTensor rows) implements Gradient {}
}
