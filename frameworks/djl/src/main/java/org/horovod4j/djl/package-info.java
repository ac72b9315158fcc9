/// Distributed training for DJL programs.
///
/// Start with [HvdDjl] (what a program calls) and [DistributedOptimizer] (averages gradients over all
/// ranks), then [GradientSynchronizer] and [BlockGradients].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.data`, `org.horovod4j.log`,
///   `org.horovod4j.optim`, `org.horovod4j.optim.overlap`, `org.horovod4j.option`,
///   `org.horovod4j.training`, `org.horovod4j.libtorch`, `org.horovod4j.djl.engine`, `ai.djl..`.
/// - Invariant: ranks match gradients by the keys of `block.getParameters()`, never by DJL's parameter
///   ids, which differ between processes.
@NullMarked
package org.horovod4j.djl;

import org.jspecify.annotations.NullMarked;
