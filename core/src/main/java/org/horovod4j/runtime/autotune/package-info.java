/// Looks for the tuning that moves the most bytes per time, while the job trains.
///
/// Start with [Autotuner] (warm up, search, compare), then [SearchSpace], [Knob] and [Grid] (what may be
/// tried), [BayesianSearch] (what to try next) over [GaussianProcess], and [TuningComparison] (whether it
/// was worth it). [AutotuneLog] and [SavedTuning] are what remains.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.option`, `org.horovod4j.spi`.
/// - Invariant: the same scores lead to the same tunings: nothing here reads a clock, and every
///   random number has a fixed seed.
@NullMarked
package org.horovod4j.runtime.autotune;

import org.jspecify.annotations.NullMarked;
