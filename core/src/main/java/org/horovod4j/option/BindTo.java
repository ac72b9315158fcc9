package org.horovod4j.option;

/// What a process of `horovodrun` is bound to.
public enum BindTo {
    /// All processors of the host.
    NONE,
    /// Its share of the cores of the host.
    CORE,
    /// Its share of the NUMA nodes of the host.
    NUMA
}
