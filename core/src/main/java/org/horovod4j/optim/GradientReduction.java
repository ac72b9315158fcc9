package org.horovod4j.optim;

import org.horovod4j.Handle;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;

import java.util.List;

/// What happens to gradients between being lent and given back.
sealed interface GradientReduction permits LocalReduction, DistributedReduction {
    /// Reduces all of them in place: in one collective, or each in its own where a compressor is
    /// between.
    ///
    /// @param name of all of them together
    /// @param members the name of each, which stays the same whatever travels beside it
    Handle<List<Gradient>> reduce(String name, List<String> members, List<Tensor> tensors);

    Handle<Gradient> reduce(String name, SparseTensor rows);

    /// How many ranks take part.
    int size();

    /// Whether gradients stay as they are, so that they need not even be lent.
    boolean isIdentity();
}
