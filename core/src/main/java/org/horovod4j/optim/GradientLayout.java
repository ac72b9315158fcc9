package org.horovod4j.optim;

/// How a gradient is held, by what a rank can tell of it.
public enum GradientLayout {
    /// Nobody can tell: no backward pass has come to the parameter.
    UNKNOWN,
    SPARSE,
    DENSE
}
