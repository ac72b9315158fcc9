package org.horovod4j.optim;

/// The layout of a gradient on one rank.
public enum GradientLayout {
    /// No backward pass has computed the gradient yet.
    UNKNOWN,
    SPARSE,
    DENSE
}
