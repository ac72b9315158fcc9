package org.horovod4j.dl4j;

import org.deeplearning4j.nn.api.Model;
import org.horovod4j.Communicator;
import org.horovod4j.Tensor;
import org.horovod4j.training.TensorBroadcast;
import org.nd4j.autodiff.samediff.SameDiff;

import java.util.Map;

/// What is equal on all ranks of a training: parameters, the state of updaters, and the counts of
/// iterations and epochs.
public interface ReplicatedState {
    /// How far the training is. Updaters and schedules depend on it.
    ///
    /// @param iterations updates of the parameters
    record Counts(int iterations, int epochs) {}

    /// The state of a network.
    ///
    /// @throws IllegalArgumentException when it is neither a `MultiLayerNetwork` nor a `ComputationGraph`
    /// @throws IllegalStateException when it is not initialised
    static ReplicatedState of(Model network) {
        return TrainableNetwork.of(network);
    }

    /// The state of a SameDiff graph.
    ///
    /// @throws IllegalStateException when it has no training configuration
    static ReplicatedState of(SameDiff graph) {
        return DistributedVariables.state(graph);
    }

    /// The parameters and the state of updaters, in the memory of ND4J.
    Map<String, Tensor> tensors();

    Counts counts();

    void setCounts(Counts counts);

    /// Overwrites the state with that of `rootRank`. All ranks call this.
    ///
    /// @throws org.horovod4j.MismatchException on all ranks, when their networks differ
    default void broadcast(Communicator communicator, int rootRank) {
        TensorBroadcast.run(communicator, "send the network", tensors(), rootRank);
        setCounts(communicator.broadcastObject("network counts", counts(), rootRank));
    }
}
