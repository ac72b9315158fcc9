/// Times the allreduce of a training step's gradients through the whole runtime: the cost of
/// negotiation, fusion and ordering in addition to the transfer.
///
/// Start with [RuntimeBenchmark] (what one rank does), then [VariantRunner] (a variant and its
/// turns), [SyntheticGradients], [GraphGradients] and [GlooAllreduce] (a step), [StepTimer] (how it is timed) and
/// [RuntimeReport] (how the results become a table). [TuningRun] runs before variants with a tuning. `runtime.sh` starts
/// them all.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.benchmarks`, `org.horovod4j.benchmarks.report`,
///   `org.horovod4j.runtime.timeline` (by [DisabledTimelineCost] alone), `org.horovod4j.tensorflow`
///   and `org.tensorflow..` (by [GraphGradients] alone), `org.horovod4j.pytorch` and `org.bytedeco..` (by
///   [GlooAllreduce] alone).
/// - Invariant: other libraries are timed in the same way; `steps_mpi.c` follows the same steps as
///   [StepTimer].
@NullMarked
package org.horovod4j.benchmarks.runtime;

import org.jspecify.annotations.NullMarked;
