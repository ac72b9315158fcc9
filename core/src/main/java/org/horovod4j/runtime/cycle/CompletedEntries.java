package org.horovod4j.runtime.cycle;

import org.horovod4j.runtime.dispatch.Dispatcher;
import org.horovod4j.runtime.queue.TensorEntry;
import org.jspecify.annotations.Nullable;

import java.lang.invoke.VarHandle;
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

    /// Completes all entries. They share a memory fence.
    void completeAll() {
        for (int i = 0; i < entries.size(); i++) {
            Dispatcher.endWithResult(entries.get(i), results.get(i));
        }
        VarHandle.fullFence();
        for (int i = 0; i < entries.size(); i++) {
            entries.get(i).signalEnd();
        }
        entries.clear();
        results.clear();
    }
}
