package org.horovod4j.libtorch;

import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/// Calls from libtorch after it has accumulated the gradient of a parameter.
///
/// libtorch owns the hooks and frees them with their parameters. A hook holds only an id. The action
/// is looked up here, through a weak reference to its registration. So a parameter does not keep a
/// registration alive, nor the other way round, and all hooks share one native callback.
final class AccumulationHooks {
    private final HookObjects objects;
    private final MemorySegment vtable;
    private final AtomicLong ids = new AtomicLong();
    private final Map<Long, Entry> entries = new ConcurrentHashMap<>();
    private final ReferenceQueue<Hook> collected = new ReferenceQueue<>();

    AccumulationHooks(HookObjects objects) {
        this.objects = objects;
        this.vtable = objects.newVtable((hook, _) -> called(hook));
    }

    HookRegistration add(long parameter, Runnable action) {
        removeCollected();
        long id = ids.incrementAndGet();
        Hook hook = new Hook(id, action);
        entries.put(id, new Entry(id, hook, collected));
        objects.install(parameter, vtable, id);
        return hook;
    }

    private void removeCollected() {
        for (Reference<?> gone = collected.poll(); gone != null; gone = collected.poll()) {
            if (gone instanceof Entry entry) {
                entries.remove(entry.id);
            }
        }
    }

    /// Called by libtorch.
    private void called(MemorySegment hook) {
        Entry entry = entries.get(HookObjects.id(hook));
        Hook registered = entry == null ? null : entry.get();
        if (registered != null) {
            registered.run();
        }
    }

    private static final class Entry extends WeakReference<Hook> {
        final long id;

        Entry(long id, Hook hook, ReferenceQueue<Hook> unheld) {
            super(hook, unheld);
            this.id = id;
        }
    }

    private final class Hook implements HookRegistration {
        private final long id;
        private final Runnable action;
        private final DeferredFailures deferredFailures = new DeferredFailures();

        Hook(long id, Runnable action) {
            this.id = id;
            this.action = action;
        }

        void run() {
            try {
                action.run();
            } catch (Throwable e) { // no exception may reach libtorch
                deferredFailures.add(e);
            }
        }

        @Override
        public void rethrow() {
            deferredFailures.rethrow();
        }

        /// libtorch keeps its hook object, whose id has no action from then on.
        @Override
        public void close() {
            entries.remove(id);
        }
    }
}
