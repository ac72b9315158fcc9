/// Whole jobs beside those of other libraries: how long an allreduce takes, a start, and what waiting costs.
///
/// Start with [AllreduceBenchmark] (what one rank does), then [CollectiveTimer] (how it is timed) and
/// [AllreduceReport] (how the rounds of all programs become one table). `run.sh` starts them all. Many tensors
/// at once are the subject of package `runtime`.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.benchmarks.report`.
/// - Invariant: other libraries are timed as we are; `measure.h` follows the same steps as [CollectiveTimer].
@NullMarked
package org.horovod4j.benchmarks;

import org.jspecify.annotations.NullMarked;
