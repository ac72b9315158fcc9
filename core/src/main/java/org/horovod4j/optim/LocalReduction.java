package org.horovod4j.optim;

import org.horovod4j.Handle;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;

import java.util.List;

/// Scales gradients on a rank that shares them with no other: it is the only one, or is outside the
/// process set.
///
/// @param factor by which gradients are multiplied
record LocalReduction(GradientArithmetic gradientArithmetic, double factor)
        implements GradientReduction {
    @Override
    public Handle<List<Gradient>> reduce(String name, List<String> members, List<Tensor> tensors) {
        tensors.forEach(tensor -> gradientArithmetic.scale(tensor, factor));
        return Handle.completed(tensors.stream().<Gradient>map(Gradient.Dense::new).toList());
    }

    @Override
    public Handle<Gradient> reduce(String name, SparseTensor rows) {
        return Handle.completed(gradientArithmetic.scaledDense(new Gradient.Sparse(rows), factor));
    }

    @Override
    public int size() {
        return 1;
    }

    @Override
    public boolean isIdentity() {
        return factor == 1;
    }
}
