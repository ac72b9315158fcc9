package org.horovod4j.optim;

import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/// Several operations, and what is made of their results when all are done.
///
/// @param finish called once, as [#join] is by its one owner
record All<S, T>(List<Handle<S>> handles, Function<List<S>, T> finish) implements Handle<T> {
    @Override
    public boolean isDone() {
        return handles.stream().allMatch(Handle::isDone);
    }

    /// Waits for all of them, even when one fails: their tensors are in use until then.
    @Override
    public T join() {
        List<S> results = new ArrayList<>();
        HorovodException first = null;
        for (Handle<S> handle : handles) {
            try {
                results.add(handle.join());
            } catch (HorovodException e) {
                first = first == null ? e : first;
            }
        }
        if (first != null) {
            throw first;
        }
        return finish.apply(results);
    }

    @Override
    public @Nullable HorovodException cause() {
        for (Handle<S> handle : handles) {
            HorovodException cause = handle.cause();
            if (cause != null) {
                return cause;
            }
        }
        return null;
    }
}
