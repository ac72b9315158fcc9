package org.horovod4j.optim;

import org.horovod4j.SparseTensor;

/// Gradients of a framework in which each may be sparse, known only after a backward pass has computed
/// it. The ranks then agree on the layout of each gradient.
public interface SparseGradients extends Gradients {
    /// The current layout of the gradient.
    GradientLayout layout(int parameter);

    /// A sparse gradient without rows, for a parameter whose layout is unknown here and sparse on other
    /// ranks. [#setReduced] is called for it too.
    SparseTensor acquireEmpty(int parameter);
}
