package org.horovod4j.djl.engine;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicReference;

/// Keeps what was thrown where nobody could catch it.
final class DeferredFailures {
    private final AtomicReference<@Nullable Throwable> first = new AtomicReference<>();

    void add(Throwable failure) {
        Throwable before = first.compareAndExchange(null, failure);
        if (before != null && !before.equals(failure)) {
            before.addSuppressed(failure);
        }
    }

    /// Forgets what was kept, for whoever tells of it in another way.
    void clear() {
        first.set(null);
    }

    /// Throws the first that was kept since the last time, the others suppressed in it.
    void rethrow() {
        switch (first.getAndSet(null)) {
            case null -> {}
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException("a hook on a gradient failed", e);
        }
    }
}
