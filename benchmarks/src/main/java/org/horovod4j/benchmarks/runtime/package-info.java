/// A training step's gradients through the whole runtime: what negotiation, fusion and order cost
/// beyond the bytes.
///
/// Start with [RuntimeBenchmark] (what one rank does), then [VariantRunner] (a variant and its turns),
/// [SyntheticGradients] (a step), [StepTimer] (how it is timed) and [RuntimeReport] (how the turns of all variants
/// become one table). [TuningRun] comes before steps that are tuned. `runtime.sh` starts them all.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.benchmarks`, `org.horovod4j.benchmarks.report`,
///   `org.horovod4j.runtime.timeline` (by [DisabledTimelineCost] alone).
/// - Invariant: other libraries are timed as we are; `steps_mpi.c` follows the same steps as [StepTimer].
@NullMarked
package org.horovod4j.benchmarks.runtime;

import org.jspecify.annotations.NullMarked;
