package org.horovod4j.benchmarks.runtime;

/// A difference from the default settings of the runtime.
enum RuntimeSetting {
    /// No difference.
    NONE,
    /// The timeline is enabled.
    TIMELINE,
    /// Plans are never locked.
    UNLOCKED,
    /// Plans are never locked, and the response cache is disabled.
    UNCACHED,
    /// The job starts with a tuning that the autotuner has found.
    AUTOTUNE,
    /// Ranks communicate over TCP, also within a host.
    TCP;

    /// Whether a running job can switch it. The other settings are environment variables that
    /// `runtime.sh` sets for a whole job, so their baseline is another job.
    boolean isSwitchable() {
        return switch (this) {
            case NONE, TIMELINE -> true;
            case UNLOCKED, UNCACHED, AUTOTUNE, TCP -> false;
        };
    }
}
