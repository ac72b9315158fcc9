package org.horovod4j.option;

/// The process that runs the rendezvous server.
public enum RendezvousHost {
    LAUNCHER,
    RANK0
}
