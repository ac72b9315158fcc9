package org.horovod4j;

import java.time.Duration;
import java.util.Optional;

/// A handle of something that is done already.
record CompletedHandle<T>(T result) implements Handle<T> {
    @Override
    public boolean isDone() {
        return true;
    }

    @Override
    public T join() {
        return result;
    }

    @Override
    public T join(Duration timeout) {
        return result;
    }

    @Override
    public void whenDone(Runnable action) {
        action.run();
    }

    @Override
    public Optional<HorovodException> failure() {
        return Optional.empty();
    }
}
