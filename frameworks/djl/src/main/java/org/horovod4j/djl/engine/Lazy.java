package org.horovod4j.djl.engine;

import org.jspecify.annotations.Nullable;

import java.util.function.Supplier;

/// A value that is created once, at the first call. If that fails, the next call tries again.
final class Lazy<T> implements Supplier<T> {
    private final Supplier<T> factory;
    private @Nullable T value;

    Lazy(Supplier<T> factory) {
        this.factory = factory;
    }

    @Override
    public synchronized T get() {
        T present = value;
        if (present == null) {
            present = factory.get();
            value = present;
        }
        return present;
    }
}
