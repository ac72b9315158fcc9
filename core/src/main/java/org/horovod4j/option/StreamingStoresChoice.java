package org.horovod4j.option;

/// Whether ranks of a host write data for each other with streaming stores, which bypass the caches.
public enum StreamingStoresChoice {
    /// Where that is faster: both ways are timed while the job runs.
    AUTO,
    ALWAYS,
    NEVER
}
