/// Distributed training for programs that use PyTorch by `org.bytedeco:pytorch`.
///
/// Start with [HvdTorch] (what a program calls) and [DistributedOptimizer] (averages gradients over all
/// ranks), then [GradientSynchronizer] and [ParameterGradients]. [TorchLibrary] loads libtorch.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.optim`,
///   `org.horovod4j.optim.overlap`, `org.horovod4j.option`, `org.horovod4j.training`,
///   `org.horovod4j.libtorch`, `org.bytedeco..`.
/// - Invariant: a native object that outlives a call is not attached to a `PointerScope` of the program,
///   which would free it.
@NullMarked
package org.horovod4j.pytorch;

import org.jspecify.annotations.NullMarked;
