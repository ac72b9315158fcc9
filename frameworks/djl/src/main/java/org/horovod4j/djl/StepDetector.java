package org.horovod4j.djl;

import java.util.BitSet;

/// Tells where steps begin, of which DJL says nothing: it calls an optimizer for one parameter
/// after the other, in an order of its own, and leaves out those that were never used or are
/// frozen.
///
/// A step begins with a parameter that the one before does not wait for: because it had its turn,
/// or because it was frozen then.
final class StepDetector {
    private BitSet pending = new BitSet();

    boolean beginsStep(int parameter) {
        return !pending.get(parameter);
    }

    /// @param trainable the parameters that this step may update
    void begin(BitSet trainable) {
        pending = trainable;
    }

    void markUpdated(int parameter) {
        pending.clear(parameter);
    }
}
