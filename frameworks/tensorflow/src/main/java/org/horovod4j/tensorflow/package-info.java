/// Collectives as ops of a TensorFlow graph, and distributed training for TensorFlow Java programs.
///
/// Start with [HvdTensorFlow] (what a program calls) and [HvdOps] (the ops), then
/// [DistributedOptimizer] (averages gradients) and [CollectiveFunction] (what the nodes do).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.compression`, `org.horovod4j.log`,
///   `org.horovod4j.optim`, `org.horovod4j.option`, `org.horovod4j.tensorflow.kernel`, `org.horovod4j.training`,
///   `org.tensorflow..`.
/// - Invariant: ranks match collectives by the names of nodes, which are equal if all ranks build the
///   same graph.
@NullMarked
package org.horovod4j.tensorflow;

import org.jspecify.annotations.NullMarked;
