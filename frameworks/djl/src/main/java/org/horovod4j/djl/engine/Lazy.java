package org.horovod4j.djl.engine;

import org.jspecify.annotations.Nullable;

import java.util.function.Supplier;

/// Something that is made once, when it is first asked for; when that fails, it is tried again.
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
