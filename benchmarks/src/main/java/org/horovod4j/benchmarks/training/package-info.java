/// Whole training steps: how the rate of a job grows with its ranks, and what overlap hides.
///
/// Start with [ScalingBenchmark] (what one rank does), then [SyntheticTraining] (a step), [StepTimes] (how
/// it is timed) and [TrainingReport] (how the rounds of all jobs become two tables, with [ReportNotes]). `scaling.sh` starts
/// them all, and needs nothing but a JVM. Real networks on a real framework are the subject of package
/// `training.djl`, whose lines go to the same report; they begin with a [JitWarmUp].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.benchmarks.report`,
///   `org.horovod4j.benchmarks.runtime`, `org.horovod4j.optim`.
/// - Invariant: a rank has the same work in every step, in every mode and with any number of ranks.
@NullMarked
package org.horovod4j.benchmarks.training;

import org.jspecify.annotations.NullMarked;
