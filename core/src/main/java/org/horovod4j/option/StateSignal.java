package org.horovod4j.option;

/// The signal by which a process is asked what all ranks are doing.
public enum StateSignal {
    /// Ignored by every process that does not ask for it, so it can be sent to all of them.
    URG,
    /// Ends a process that does not ask for it.
    USR1,
    NONE
}
