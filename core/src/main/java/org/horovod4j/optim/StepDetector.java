package org.horovod4j.optim;

import java.util.BitSet;

/// Finds the beginning of a step in a sequence of updates of single parameters.
///
/// A framework may call an optimizer for one parameter after the other, in any order, without saying
/// where a step begins. It may leave out parameters that were not used or are frozen. A step begins
/// with a parameter that the current step does not expect: it has been updated already, or it was
/// frozen when the step began.
public final class StepDetector {
    private BitSet pending = new BitSet();

    /// Before the first step.
    public StepDetector() {}

    /// Whether an update of `parameter` begins a step.
    public boolean beginsStep(int parameter) {
        return !pending.get(parameter);
    }

    /// Begins a step.
    ///
    /// @param trainable the parameters that this step may update
    public void begin(BitSet trainable) {
        pending = trainable;
    }

    /// Notes an update within the step.
    public void markUpdated(int parameter) {
        pending.clear(parameter);
    }
}
