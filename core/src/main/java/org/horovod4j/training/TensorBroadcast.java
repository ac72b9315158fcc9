package org.horovod4j.training;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.Tensor;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// Overwrites the tensors of all ranks with those of one rank, for example the initial weights.
///
/// ```java
/// TensorBroadcast.run(Hvd.communicator(), "parameters", Map.of("weights", Tensor.of(weights)), 0);
/// ```
public final class TensorBroadcast {
    private TensorBroadcast() {}

    /// Checks that all ranks have tensors of the same names, types and shapes, then overwrites them
    /// with those of `rootRank`. All ranks call this.
    ///
    /// @param action what this is for; part of messages and of the tensors' names
    /// @param tensors by names that are the same on all ranks
    /// @throws org.horovod4j.MismatchException on all ranks, when the tensors of a rank differ
    public static void run(
            Communicator communicator, String action, Map<String, Tensor> tensors, int rootRank) {
        List<TensorSpec> own = TensorSpec.ofAll(tensors);
        List<TensorSpec> root = communicator.broadcastObject(action + ".names", own, rootRank);
        RankConsistency.check(
                communicator,
                action,
                TensorSpec.differences(root, own),
                "Use the same names, types and shapes on every rank.");
        overwrite(communicator, action + ".", tensors, rootRank);
    }

    /// Overwrites the tensors, without the check. Submits all broadcasts before it waits for the
    /// first one, so that small tensors are fused.
    ///
    /// @param prefix of the names of the broadcasts
    public static void overwrite(
            Communicator communicator, String prefix, Map<String, Tensor> tensors, int rootRank) {
        List<Handle<Tensor>> handles = new ArrayList<>();
        tensors.forEach(
                (name, tensor) ->
                        handles.add(communicator.broadcastAsync(prefix + name, tensor, rootRank)));
        joinAll(handles);
    }

    /// Waits for all handles, even after a failure: their tensors must not be in use when the caller
    /// continues.
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
