package org.horovod4j.libtorch;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicReference;

/// Keeps exceptions that were thrown inside a call from native code, until Java code can throw them.
public final class DeferredFailures {
    private final AtomicReference<@Nullable Throwable> first = new AtomicReference<>();

    void add(Throwable failure) {
        Throwable before = first.compareAndExchange(null, failure);
        if (before != null && !before.equals(failure)) {
            before.addSuppressed(failure);
        }
    }

    void clear() {
        first.set(null);
    }

    /// Throws the first exception since the last call, with the later ones suppressed in it. Returns
    /// if there was none.
    public void rethrow() {
        switch (first.getAndSet(null)) {
            case null -> {}
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException("a hook on a gradient failed", e);
        }
    }
}
