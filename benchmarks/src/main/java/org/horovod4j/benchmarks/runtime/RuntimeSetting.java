package org.horovod4j.benchmarks.runtime;

/// What differs from the runtime's defaults.
enum RuntimeSetting {
    /// Nothing.
    NONE,
    /// A trace of every operation is written.
    TIMELINE,
    /// No plan is ever locked.
    UNLOCKED,
    /// Nor is any request known by number.
    UNCACHED,
    /// The job begins with a tuning that a search has found.
    AUTOTUNE;

    /// Whether a running job can switch it. The others are variables that `runtime.sh` sets for a whole
    /// job, so what they are measured by is another job.
    boolean isSwitchable() {
        return switch (this) {
            case NONE, TIMELINE -> true;
            case UNLOCKED, UNCACHED, AUTOTUNE -> false;
        };
    }
}
