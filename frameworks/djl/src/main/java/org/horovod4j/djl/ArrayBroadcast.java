package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.Tensor;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// Overwrites arrays with those of one rank. All are submitted before the first is waited for, so
/// that small ones travel together.
final class ArrayBroadcast {
    private ArrayBroadcast() {}

    /// @param arrays by names that all ranks have in common
    static void run(
            Communicator communicator, String prefix, Map<String, NDArray> arrays, int rootRank) {
        List<TensorView> lent = new ArrayList<>();
        List<Handle<Tensor>> handles = new ArrayList<>();
        arrays.forEach(
                (name, array) -> {
                    TensorView loan = TensorView.of(array);
                    lent.add(loan);
                    handles.add(
                            communicator.broadcastAsync(prefix + name, loan.tensor(), rootRank));
                });
        joinAll(handles);
        lent.forEach(TensorView::writeBack);
    }

    /// Waits for all, even after a failure: their memory is the engine's, and must not be in use
    /// when the program goes on.
    private static void joinAll(List<Handle<Tensor>> handles) {
        @Nullable HorovodException failure = null;
        for (Handle<Tensor> handle : handles) {
            try {
                Tensor _ = handle.join();
            } catch (HorovodException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
