/// Benchmarks of whole jobs, compared with other libraries: allreduce, start-up, and the CPU time
/// of waiting.
///
/// Start with [AllreduceBenchmark] (what one rank does), then [CollectiveTimer] (how it is timed)
/// and [AllreduceReport] (how the results of all programs become tables and a plot). `run.sh` starts them
/// all. Package `runtime` measures many tensors at once.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.benchmarks.report`.
/// - Invariant: other libraries are timed in the same way; `measure.h` follows the same steps as
///   [CollectiveTimer].
@NullMarked
package org.horovod4j.benchmarks;

import org.jspecify.annotations.NullMarked;
