package org.horovod4j.djl.elastic;

import ai.djl.ndarray.NDArray;

import org.horovod4j.djl.ArrayForm;
import org.horovod4j.djl.LentArray;
import org.horovod4j.elastic.Snapshot;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// The elements of some arrays at one moment, by the names of the arrays.
final class ArrayCopies {
    private final List<ArrayForm> forms;
    private final Snapshot copies;

    private ArrayCopies(List<ArrayForm> forms, Snapshot copies) {
        this.forms = forms;
        this.copies = copies;
    }

    /// Room for copies of such arrays, with nothing in it.
    static ArrayCopies like(Map<String, NDArray> arrays) {
        List<ArrayForm> forms = ArrayForm.all(arrays);
        return new ArrayCopies(forms, Snapshot.of(segments(lend(forms, arrays))));
    }

    /// Whether [#take] may be called with these.
    boolean fit(Map<String, NDArray> arrays) {
        return ArrayForm.all(arrays).equals(forms);
    }

    void take(Map<String, NDArray> arrays) {
        copies.take(segments(lend(forms, arrays)));
    }

    /// What is left of [#take] once the engine has lent its memory: it asks the engine for nothing, so any one
    /// thread may do it, while the arrays stay open and as they are.
    Runnable taking(Map<String, NDArray> arrays) {
        List<MemorySegment> sources = segments(lend(forms, arrays));
        return () -> copies.takeAside(sources);
    }

    /// Overwrites arrays of the same names and forms; whether they are the same ones is of no interest.
    void giveBack(Map<String, NDArray> arrays) {
        List<LentArray> lent = lend(forms, arrays);
        copies.giveBack(segments(lent));
        lent.forEach(LentArray::giveBack);
    }

    private static List<LentArray> lend(List<ArrayForm> forms, Map<String, NDArray> arrays) {
        return forms.stream()
                .map(form -> LentArray.of(Objects.requireNonNull(arrays.get(form.name()))))
                .toList();
    }

    private static List<MemorySegment> segments(List<LentArray> lent) {
        return lent.stream().map(each -> each.tensor().segment()).toList();
    }
}
