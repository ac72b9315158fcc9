package org.horovod4j.optim;

import java.util.List;
import java.util.function.IntPredicate;

/// Nothing to agree on: gradients are dense in any case, or there is nobody to agree with, or a framework
/// has each of them in the same kind on all ranks.
record KindsAsLent(Gradients gradients) implements Kinds {
    @Override
    public boolean settle(List<Integer> parameters) {
        return true;
    }

    @Override
    public void agree(IntPredicate takesPart) {}

    @Override
    public boolean isNowhere(int parameter) {
        return false;
    }

    @Override
    public Gradient lend(int parameter) {
        return gradients.lend(parameter);
    }

    @Override
    public void beginWindow() {}
}
