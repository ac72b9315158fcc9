package org.horovod4j.djl.elastic;

import ai.djl.ndarray.NDArray;

import org.horovod4j.djl.ArraySpecs;
import org.horovod4j.djl.TensorView;
import org.horovod4j.elastic.Snapshot;
import org.horovod4j.training.TensorSpec;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// A copy of arrays, by name.
final class ArraySnapshot {
    private final List<TensorSpec> specs;
    private final Snapshot snapshot;

    private ArraySnapshot(List<TensorSpec> specs, Snapshot snapshot) {
        this.specs = specs;
        this.snapshot = snapshot;
    }

    /// An empty snapshot with memory for these arrays.
    static ArraySnapshot allocateFor(Map<String, NDArray> arrays) {
        List<TensorSpec> specs = ArraySpecs.ofAll(arrays);
        return new ArraySnapshot(specs, Snapshot.of(segments(views(specs, arrays))));
    }

    /// Whether [#copyFrom] may be called with these arrays.
    boolean matches(Map<String, NDArray> arrays) {
        return ArraySpecs.ofAll(arrays).equals(specs);
    }

    void copyFrom(Map<String, NDArray> arrays) {
        snapshot.copyFrom(segments(views(specs, arrays)));
    }

    /// The copy of [#copyFrom] as a task for any thread. It does not call the engine. The arrays must
    /// stay open and unchanged until it is done.
    Runnable copyTask(Map<String, NDArray> arrays) {
        List<MemorySegment> sources = segments(views(specs, arrays));
        return () -> snapshot.copyFromSingleThreaded(sources);
    }

    /// Overwrites arrays of the same names, types and shapes, which may be other arrays than before.
    void copyTo(Map<String, NDArray> arrays) {
        List<TensorView> views = views(specs, arrays);
        snapshot.copyTo(segments(views));
        views.forEach(TensorView::writeBack);
    }

    private static List<TensorView> views(List<TensorSpec> specs, Map<String, NDArray> arrays) {
        return specs.stream()
                .map(spec -> TensorView.of(Objects.requireNonNull(arrays.get(spec.name()))))
                .toList();
    }

    private static List<MemorySegment> segments(List<TensorView> views) {
        return views.stream().map(each -> each.tensor().segment()).toList();
    }
}
