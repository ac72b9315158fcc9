package org.horovod4j.runtime.cycle;

import org.horovod4j.runtime.dispatch.Dispatcher;
import org.horovod4j.runtime.queue.TensorEntry;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/// Entries that have run, with their results. They complete after the lock of the queue is
/// released.
final class CompletedEntries {
    private final List<TensorEntry<?>> entries = new ArrayList<>();
    private final List<@Nullable Object> results = new ArrayList<>();

    void add(TensorEntry<?> tensorEntry, @Nullable Object result) {
        entries.add(tensorEntry);
        results.add(result);
    }

    /// Completes all entries.
    void completeAll() {
        for (int i = 0; i < entries.size(); i++) {
            Dispatcher.complete(entries.get(i), results.get(i));
        }
        entries.clear();
        results.clear();
    }
}
