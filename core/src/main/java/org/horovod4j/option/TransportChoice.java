package org.horovod4j.option;

/// Which ways between ranks may be used.
public enum TransportChoice {
    /// Shared memory inside a host, TCP between hosts.
    AUTO,
    TCP
}
