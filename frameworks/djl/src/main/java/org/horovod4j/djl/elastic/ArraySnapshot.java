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

/// The elements of some arrays at one moment, by the names of the arrays.
final class ArraySnapshot {
    private final List<TensorSpec> specs;
    private final Snapshot snapshot;

    private ArraySnapshot(List<TensorSpec> specs, Snapshot snapshot) {
        this.specs = specs;
        this.snapshot = snapshot;
    }

    /// Room for copies of such arrays, with nothing in it.
    static ArraySnapshot allocateFor(Map<String, NDArray> arrays) {
        List<TensorSpec> forms = ArraySpecs.ofAll(arrays);
        return new ArraySnapshot(forms, Snapshot.of(segments(views(forms, arrays))));
    }

    /// Whether [#copyFrom] may be called with these.
    boolean matches(Map<String, NDArray> arrays) {
        return ArraySpecs.ofAll(arrays).equals(specs);
    }

    void copyFrom(Map<String, NDArray> arrays) {
        snapshot.copyFrom(segments(views(specs, arrays)));
    }

    /// What is left of [#copyFrom] once the engine has lent its memory: it asks the engine for nothing, so any one
    /// thread may do it, while the arrays stay open and as they are.
    Runnable copyTask(Map<String, NDArray> arrays) {
        List<MemorySegment> sources = segments(views(specs, arrays));
        return () -> snapshot.copyFromSingleThreaded(sources);
    }

    /// Overwrites arrays of the same names and forms; whether they are the same ones is of no interest.
    void copyTo(Map<String, NDArray> arrays) {
        List<TensorView> lent = views(specs, arrays);
        snapshot.copyTo(segments(lent));
        lent.forEach(TensorView::writeBack);
    }

    private static List<TensorView> views(List<TensorSpec> forms, Map<String, NDArray> arrays) {
        return forms.stream()
                .map(form -> TensorView.of(Objects.requireNonNull(arrays.get(form.name()))))
                .toList();
    }

    private static List<MemorySegment> segments(List<TensorView> lent) {
        return lent.stream().map(each -> each.tensor().segment()).toList();
    }
}
