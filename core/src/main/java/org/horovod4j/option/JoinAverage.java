package org.horovod4j.option;

/// The divisor of an average while some ranks have joined and contribute nothing.
public enum JoinAverage {
    /// The size of the process set, as in Horovod.
    ALL,
    /// The number of its ranks that have not joined.
    LIVE
}
