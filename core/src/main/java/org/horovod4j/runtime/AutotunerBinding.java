package org.horovod4j.runtime;

import org.horovod4j.runtime.autotune.Autotuner;
import org.horovod4j.runtime.controller.Coordinator;
import org.horovod4j.runtime.cycle.CycleAgent.StepListener;
import org.horovod4j.spi.Tuning;
import org.jspecify.annotations.Nullable;

/// Lets the autotuner, if there is one, watch the steps of the process set of all ranks and turn
/// its knobs.
final class AutotunerBinding {
    private static final StepListener NO_LISTENER = (_, _) -> false;

    private final @Nullable Autotuner autotuner;
    private final Tuning settings;

    /// @param settings the tuning that all ranks begin with
    AutotunerBinding(@Nullable Autotuner autotuner, Tuning settings) {
        this.autotuner = autotuner;
        this.settings = settings;
    }

    /// Watches the steps of a process set.
    ///
    /// @param coordinator its coordinator, if that is this rank
    StepListener stepListener(RankSet set, @Nullable Coordinator coordinator) {
        Autotuner tuning = autotuner;
        if (tuning == null || coordinator == null || set.id() != 0) {
            return NO_LISTENER;
        }
        if (!tuning.current().equals(settings)) { // an earlier run's result
            coordinator.retune(tuning.current());
        }
        return (bytes, nanos) -> {
            Tuning next = tuning.step(bytes, nanos);
            if (next != null) {
                coordinator.retune(next);
            }
            return next != null;
        };
    }
}
