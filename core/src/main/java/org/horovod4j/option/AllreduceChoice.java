package org.horovod4j.option;

/// The algorithm of an allreduce between hosts.
public enum AllreduceChoice {
    /// The algorithm that a cost model, measured at start, expects to be fastest for the size.
    AUTO,
    RING,
    HALVING_DOUBLING,
    TREE,
    DOUBLING
}
