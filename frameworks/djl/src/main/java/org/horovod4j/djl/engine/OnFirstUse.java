package org.horovod4j.djl.engine;

import org.jspecify.annotations.Nullable;

import java.util.function.Supplier;

/// Something that is made once, when it is first asked for; when that fails, it is tried again.
final class OnFirstUse<T> implements Supplier<T> {
    private final Supplier<T> maker;
    private @Nullable T made;

    OnFirstUse(Supplier<T> maker) {
        this.maker = maker;
    }

    @Override
    public synchronized T get() {
        T present = made;
        if (present == null) {
            present = maker.get();
            made = present;
        }
        return present;
    }
}
