package org.horovod4j.optim;

import org.horovod4j.SparseTensor;

/// Gradients of which some may be sparse, of a framework that does not say so before a backward pass has
/// computed them: the ranks then agree on how each of them travels.
public interface SparseGradients extends Gradients {
    /// What there is of the gradient now.
    GradientLayout layout(int parameter);

    /// Lends a sparse gradient without rows, for a parameter whose kind is unknown here and sparse on
    /// other ranks. It is given back like any other.
    SparseTensor acquireEmpty(int parameter);
}
