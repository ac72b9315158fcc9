package org.horovod4j.option;

/// Which algorithm an allreduce uses between hosts.
public enum AllreduceChoice {
    /// The one that a cost model, measured at start, expects to be fastest for the size.
    AUTO,
    RING,
    HALVING_DOUBLING,
    TREE,
    DOUBLING
}
