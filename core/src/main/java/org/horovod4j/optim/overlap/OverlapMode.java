package org.horovod4j.optim.overlap;

/// What a program has asked for: reduce gradients during backward or not.
public enum OverlapMode {
    /// The program has asked for overlap.
    ALWAYS,
    /// The program has switched overlap off.
    NEVER,
    /// The program has not asked: [OverlapHeuristic] decides.
    AUTO
}
