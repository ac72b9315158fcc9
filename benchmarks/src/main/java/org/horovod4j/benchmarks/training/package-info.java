/// Measures whole training steps: the scaling of the rate with the number of ranks, and the effect
/// of overlap.
///
/// Start with [ScalingBenchmark] (what one rank does), then [SyntheticTraining] (a step),
/// [StepTimes] (how it is timed) and [TrainingReport] (how the results become two tables, with
/// [ReportNotes]). `scaling.sh` starts them all, and needs only a JVM. Packages `training.djl`,
/// `training.dl4j`, `training.pytorch` and `training.tensorflow` measure real networks on real frameworks: each has a [NetworkTraining] for
/// each mode, which take turns in [InterleavedTrainings] after a [org.horovod4j.benchmarks.JitWarmUp], and writes to the same
/// report.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.benchmarks.report`,
///   `org.horovod4j.benchmarks.runtime`, `org.horovod4j.optim`.
/// - Invariant: a rank has the same work in every step, in every mode and for any number of ranks.
@NullMarked
package org.horovod4j.benchmarks.training;

import org.jspecify.annotations.NullMarked;
