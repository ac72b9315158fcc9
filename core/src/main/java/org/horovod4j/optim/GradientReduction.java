package org.horovod4j.optim;

import org.horovod4j.Handle;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;

import java.util.List;

/// Reduces gradients: over all ranks, or on this rank alone.
sealed interface GradientReduction permits LocalReduction, DistributedReduction {
    /// Reduces tensors in place: in one collective, or in one for each tensor with a compressor.
    ///
    /// @param name of the collective
    /// @param members the name of each tensor, which does not depend on the other tensors
    Handle<List<Gradient>> reduce(String name, List<String> members, List<Tensor> tensors);

    Handle<Gradient> reduce(String name, SparseTensor rows);

    /// The number of ranks that take part.
    int size();

    /// Whether gradients do not change, so that nothing needs to be done.
    boolean isIdentity();
}
