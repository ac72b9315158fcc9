package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;

import org.horovod4j.Communicator;
import org.horovod4j.training.RankConsistency;
import org.horovod4j.training.TensorSpec;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/// The parameters of a network by names that are the same on all ranks: weights and biases, frozen or
/// not, and the running statistics of batch norms.
public final class Parameters {
    private static final String ACTION = "broadcastParameters";

    private Parameters() {}

    /// The arrays of a block by the keys of `block.getParameters()`.
    ///
    /// @throws IllegalStateException when a parameter is not initialised
    public static Map<String, NDArray> arrays(Block block) {
        Map<String, NDArray> arrays = new LinkedHashMap<>();
        uninitialised(block)
                .ifPresent(
                        problem -> {
                            throw new IllegalStateException(problem);
                        });
        block.getParameters()
                .forEach(named -> arrays.put(named.getKey(), named.getValue().getArray()));
        return arrays;
    }

    /// Overwrites all parameters with those of `rootRank`, in place. All ranks call this, after
    /// `trainer.initialize`.
    ///
    /// @throws org.horovod4j.MismatchException on all ranks, when the parameters of a rank differ or
    ///     are not initialised
    public static void broadcast(Communicator communicator, Block block, int rootRank) {
        broadcast(communicator, block, rootRank, name -> true);
    }

    /// Overwrites some parameters with those of `rootRank`; see [#broadcast(Communicator, Block,
    /// int)].
    ///
    /// @param which parameters, by name
    public static void broadcast(
            Communicator communicator, Block block, int rootRank, Predicate<String> which) {
        Optional<String> uninitialised = uninitialised(block);
        List<TensorSpec> own =
                uninitialised.isPresent() ? List.of() : ArraySpecs.ofAll(arrays(block, which));
        List<TensorSpec> roots = communicator.broadcastObject(ACTION + ".names", own, rootRank);
        RankConsistency.check(
                communicator,
                ACTION,
                uninitialised.map(List::of).orElseGet(() -> TensorSpec.differences(roots, own)),
                "Build the same network on every rank, and initialise it for the same shapes.");
        ArrayBroadcast.run(communicator, "parameter.", arrays(block, which), rootRank);
    }

    private static Map<String, NDArray> arrays(Block block, Predicate<String> which) {
        Map<String, NDArray> arrays = arrays(block);
        arrays.keySet().removeIf(which.negate());
        return arrays;
    }

    private static Optional<String> uninitialised(Block block) {
        return block.getParameters().stream()
                .filter(named -> !named.getValue().isInitialized())
                .findFirst()
                .map(
                        named ->
                                """
                                parameter '%s' is not initialised: call trainer.initialize(shapes of \
                                the input) first"""
                                        .formatted(named.getKey()));
    }
}
