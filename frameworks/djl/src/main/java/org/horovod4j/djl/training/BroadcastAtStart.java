package org.horovod4j.djl.training;

import ai.djl.nn.Block;
import ai.djl.training.Trainer;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.training.CommunicatorProvider;

import java.util.function.Predicate;

/// Overwrites parameters and optimizer state of all ranks with those of one rank when training starts.
///
/// If the network is initialised on all ranks when the trainer is created, this happens then. Usually
/// `trainer.initialize` comes later. Then it happens between backward and step of the first batch,
/// because DJL calls no listener before. As with Horovod's callback, the gradients of that first step
/// are computed with each rank's own initial parameters. `HvdDjl.broadcastParameters` after
/// `trainer.initialize` avoids that.
public final class BroadcastAtStart extends TrainingListenerAdapter {
    private final CommunicatorProvider communicators;
    private final Optimizer optimizer;
    private final int rootRank;
    private final Predicate<String> which;
    private boolean isDone;

    /// Broadcasts from `rootRank` to all ranks of `Hvd`.
    public BroadcastAtStart(Optimizer optimizer, int rootRank) {
        this(CommunicatorProvider.FROM_HVD, optimizer, rootRank, name -> true);
    }

    /// @param which parameters, by name
    public BroadcastAtStart(
            Communicator communicator, Optimizer optimizer, int rootRank, Predicate<String> which) {
        this(new CommunicatorProvider(communicator), optimizer, rootRank, which);
    }

    private BroadcastAtStart(
            CommunicatorProvider communicatorProvider,
            Optimizer optimizer,
            int rootRank,
            Predicate<String> which) {
        this.communicators = communicatorProvider;
        this.optimizer = optimizer;
        this.rootRank = rootRank;
        this.which = which;
    }

    @Override
    public void onTrainingBegin(Trainer trainer) {
        Block block = trainer.getModel().getBlock();
        boolean initialised =
                block.getParameters().stream().allMatch(named -> named.getValue().isInitialized());
        int[] minimum = {initialised ? 1 : 0};
        Tensor _ =
                communicators
                        .current()
                        .allreduce(
                                "broadcast-at-start.initialised", Tensor.of(minimum), ReduceOp.MIN);
        isDone = false;
        if (minimum[0] == 1) {
            broadcast(block);
        }
    }

    @Override
    public void onTrainingBatch(Trainer trainer, BatchData batchData) {
        if (!isDone) {
            broadcast(trainer.getModel().getBlock());
        }
    }

    private void broadcast(Block block) {
        Communicator communicator = communicators.current();
        Parameters.broadcast(communicator, block, rootRank, which);
        OptimizerState.of(optimizer, block, which).broadcast(communicator, rootRank);
        isDone = true;
    }
}
