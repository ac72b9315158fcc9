package org.horovod4j.spark.data;

/// The part of the heap in which readers keep rows, if they have no limit of their own. A JVM may have
/// several readers: its ranks may be threads, and each reads other rows to validate with.
final class CacheBudget {
    /// Of this JVM.
    static final CacheBudget SHARED = new CacheBudget(Runtime.getRuntime().maxMemory() / 4);

    private final long limit;
    private long reserved;

    CacheBudget(long limit) {
        this.limit = limit;
    }

    long limit() {
        return limit;
    }

    /// Reserves bytes until [#release].
    ///
    /// @return whether enough bytes were left
    synchronized boolean reserve(long bytes) {
        if (bytes > limit - reserved) {
            return false;
        }
        reserved += bytes;
        return true;
    }

    synchronized void release(long bytes) {
        reserved -= bytes;
    }
}
