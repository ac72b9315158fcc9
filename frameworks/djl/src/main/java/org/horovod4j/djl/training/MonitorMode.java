package org.horovod4j.djl.training;

/// Which figures are better than others.
public enum MonitorMode {
    /// Larger ones if the name of the figure speaks of accuracy, smaller ones otherwise.
    AUTO,
    MIN,
    MAX
}
