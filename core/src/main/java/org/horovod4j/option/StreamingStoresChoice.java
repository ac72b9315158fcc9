package org.horovod4j.option;

/// Whether ranks of a host write data for each other with streaming stores, past the caches.
public enum StreamingStoresChoice {
    /// Where it is faster: both ways are timed while the job runs.
    AUTO,
    ALWAYS,
    NEVER
}
