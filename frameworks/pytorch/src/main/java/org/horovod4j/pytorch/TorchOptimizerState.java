package org.horovod4j.pytorch;

import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroup;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.horovod4j.Communicator;
import org.horovod4j.training.RankConsistency;

import java.util.BitSet;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/// The state of an optimizer of `torch::optim`, such as momentum, with its settings, such as the learning
/// rate. It has the format of `torch::save`.
public final class TorchOptimizerState {
    private static final String ACTION = "broadcastOptimizerState";

    private TorchOptimizerState() {}

    /// A copy of state and settings.
    public static byte[] save(Optimizer optimizer) {
        TorchLibrary.runtime();
        try (OutputArchive archive = new OutputArchive()) {
            optimizer.save(archive);
            return OptimizerArchive.bytes(archive);
        }
    }

    /// Overwrites state and settings. A parameter that had no state when `state` was saved, for example
    /// because there was no step yet, gets the state of an optimizer that has made no step.
    ///
    /// @param state of an optimizer of the same kind with the same parameters
    /// @throws IllegalStateException when a parameter of SGD with dampening would lose its state
    public static void load(Optimizer optimizer, byte[] state) {
        load(optimizer, save(optimizer), state);
    }

    /// @param own the present state
    private static void load(Optimizer optimizer, byte[] own, byte[] state) {
        OptimizerArchive present = OptimizerArchive.parse(own);
        OptimizerArchive next = OptimizerArchive.parse(state);
        BitSet lost = present.withState();
        lost.andNot(next.withState());
        if (!lost.isEmpty()) {
            if (hasDampening(optimizer)) {
                throw new IllegalStateException(
                        """
                        a state that was saved before the first step cannot be loaded into SGD with dampening
                        Create the optimizer again, or save after the first step.""");
            }
            optimizer.load(present.zeroed());
        }
        optimizer.load(next.archive());
    }

    /// The first step of SGD with dampening differs from a step after a momentum of zeros, and libtorch
    /// cannot remove a momentum.
    private static boolean hasDampening(Optimizer optimizer) {
        return optimizer instanceof SGD
                && groups(optimizer)
                        .map(OptimizerParamGroup::options)
                        .anyMatch(options -> new SGDOptions(options).dampening().get() != 0);
    }

    private static Stream<OptimizerParamGroup> groups(Optimizer optimizer) {
        return LongStream.range(0, optimizer.param_groups().size())
                .mapToObj(optimizer.param_groups()::get);
    }

    /// Overwrites state and settings with those of `rootRank`. All ranks call this.
    ///
    /// @throws org.horovod4j.MismatchException on all ranks, when a rank has another kind of optimizer or
    ///     another number of parameters, or when SGD with dampening would lose a state; see [#load]
    public static void broadcast(Communicator communicator, Optimizer optimizer, int rootRank) {
        byte[] own = save(optimizer);
        Summary summary =
                new Summary(
                        optimizer.getClass().getSimpleName(),
                        parameters(optimizer),
                        hasDampening(optimizer),
                        OptimizerArchive.parse(own).withState().stream().boxed().toList(),
                        own.length);
        Summary root = communicator.broadcastObject(ACTION + ".summary", summary, rootRank);
        RankConsistency.check(
                communicator,
                ACTION,
                summary.differences(root),
                "Use the same optimizer and the same network on every rank.");
        byte[] state = communicator.rank() == rootRank ? own : new byte[root.byteSize];
        communicator.broadcast(
                ACTION + ".state", org.horovod4j.Tensor.of(state, state.length), rootRank);
        load(optimizer, own, state);
    }

    private static long parameters(Optimizer optimizer) {
        return groups(optimizer).mapToLong(group -> group.params().size()).sum();
    }

    /// @param parameters the number of parameters
    /// @param withState the positions of those with a state
    private record Summary(
            String optimizer,
            long parameters,
            boolean hasDampening,
            List<Integer> withState,
            int byteSize) {
        List<String> differences(Summary root) {
            if (!optimizer.equals(root.optimizer) || parameters != root.parameters) {
                return List.of(
                        "uses %s with %d parameters, the root rank %s with %d"
                                .formatted(optimizer, parameters, root.optimizer, root.parameters));
            }
            return hasDampening && !root.withState.containsAll(withState)
                    ? List.of("has made steps by SGD with dampening, the root rank has not")
                    : List.of();
        }
    }
}
