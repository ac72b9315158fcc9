package org.horovod4j.optim;

import java.util.List;
import java.util.function.IntPredicate;

/// Nothing to agree on: gradients are dense in any case, or there is nobody to agree with, or a framework
/// has each of them in the same kind on all ranks.
record FixedLayouts(Gradients gradients) implements GradientLayouts {
    @Override
    public boolean canLaunch(List<Integer> parameters) {
        return true;
    }

    @Override
    public void negotiate(IntPredicate takesPart) {}

    @Override
    public boolean isAbsent(int parameter) {
        return false;
    }

    @Override
    public Gradient acquire(int parameter) {
        return gradients.acquire(parameter);
    }

    @Override
    public void beginWindow() {}
}
