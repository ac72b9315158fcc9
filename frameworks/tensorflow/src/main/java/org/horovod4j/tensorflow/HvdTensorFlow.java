package org.horovod4j.tensorflow;

import org.tensorflow.op.Ops;

/// Horovod4J for a TensorFlow Java program: one-line methods over `Hvd`.
public final class HvdTensorFlow {
    private HvdTensorFlow() {}

    /// Collectives as ops of the graph of `tf`, among all ranks of the job.
    public static HvdOps ops(Ops tf) {
        return HvdOps.create(tf);
    }
}
