package org.horovod4j.option;

/// What an average is divided by while some ranks have joined, and so add nothing.
public enum JoinAverage {
    /// The size of the process set, as Horovod does.
    ALL,
    /// How many of its ranks have not joined.
    LIVE
}
