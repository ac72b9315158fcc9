package org.horovod4j;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/// A handle for several operations: done when all are.
///
/// @param <T> what each of them returns
public record AllOf<T>(List<? extends Handle<T>> handles) implements Handle<List<T>> {
    public AllOf {
        handles = List.copyOf(handles);
    }

    @Override
    public boolean isDone() {
        return handles.stream().allMatch(Handle::isDone);
    }

    /// Waits for all of them, even when one fails, because their tensors are in use until then.
    @Override
    public List<T> join() {
        List<T> results = new ArrayList<>(handles.size());
        HorovodException first = null;
        for (Handle<T> handle : handles) {
            try {
                results.add(handle.join());
            } catch (HorovodException e) {
                first = first == null ? e : first;
            }
        }
        if (first != null) {
            throw first;
        }
        return results;
    }

    @Override
    public @Nullable HorovodException cause() {
        for (Handle<T> handle : handles) {
            HorovodException cause = handle.cause();
            if (cause != null) {
                return cause;
            }
        }
        return null;
    }
}
