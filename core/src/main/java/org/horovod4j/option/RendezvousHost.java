package org.horovod4j.option;

/// Who runs the server where the ranks meet.
public enum RendezvousHost {
    LAUNCHER,
    RANK0
}
