/// Finds the tuning that moves the most bytes per time, while the job trains.
///
/// Start with [Autotuner] (warm up, search, compare), then [SearchSpace] and [Knob] (what may be
/// tried), [CoordinateSearch] (what to try next) and [TuningComparison] (whether the result is
/// faster). [AutotuneLog] and [SavedTuning] are the files.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.option`, `org.horovod4j.spi`.
/// - Invariant: the same scores lead to the same tunings: no code here reads a clock or a random
///   number.
@NullMarked
package org.horovod4j.runtime.autotune;

import org.jspecify.annotations.NullMarked;
