package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;

import org.horovod4j.Communicator;
import org.horovod4j.Tensor;
import org.horovod4j.training.TensorBroadcast;

import java.util.LinkedHashMap;
import java.util.Map;

/// Overwrites arrays with those of one rank.
final class ArrayBroadcast {
    private ArrayBroadcast() {}

    /// @param arrays by names that are the same on all ranks
    static void run(
            Communicator communicator, String prefix, Map<String, NDArray> arrays, int rootRank) {
        Map<String, TensorView> views = new LinkedHashMap<>();
        arrays.forEach((name, array) -> views.put(name, TensorView.of(array, communicator)));
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        views.forEach((name, view) -> tensors.put(name, view.tensor()));
        TensorBroadcast.overwrite(communicator, prefix, tensors, rootRank);
        views.values().forEach(TensorView::writeBack);
    }
}
