package org.horovod4j.dl4j.training;

import org.deeplearning4j.nn.api.Model;
import org.horovod4j.Communicator;
import org.horovod4j.Tensor;
import org.horovod4j.dl4j.ReplicatedState;
import org.horovod4j.dl4j.ReplicatedState.Counts;
import org.horovod4j.elastic.CommitBuffers;
import org.horovod4j.elastic.State;
import org.nd4j.autodiff.samediff.SameDiff;

import java.util.Map;

/// A network of DL4J or a SameDiff graph for elastic training: its parameters, the state of its updaters,
/// and the counts of iterations and epochs.
///
/// ```java
/// HvdDl4j.distributed(network);
/// ElasticSampler sampler = new ElasticSampler(images, Sampling.shuffled(42));
/// ObjectState state =
///         new ObjectState().with("network", new Dl4jState(network)).with("sampler", sampler);
/// Elastic.run(state, s -> …); // without broadcastParameters: the state is sent
/// ```
///
/// A distributed network uses the ranks of each generation without further calls. There are two copies,
/// written in turn: the previous commit stays valid until the next one is complete.
public final class Dl4jState extends State {
    private final ReplicatedState replicated;
    private final CommitBuffers<Commit> commitBuffers =
            new CommitBuffers<>(() -> "the network and the state of its updater");

    /// The content of a commit.
    private record Commit(Map<String, Tensor> tensors, Counts counts) {}

    /// @param network initialised, on new workers too
    public Dl4jState(Model network) {
        this.replicated = ReplicatedState.of(network);
    }

    /// @param graph with its training configuration, on new workers too
    public Dl4jState(SameDiff graph) {
        this.replicated = ReplicatedState.of(graph);
    }

    @Override
    protected void save() {
        Map<String, Tensor> values = replicated.tensors();
        Map<String, Tensor> copies =
                commitBuffers
                        .spare()
                        .map(Commit::tensors)
                        .orElseGet(() -> CommitBuffers.copies(values));
        commitBuffers.commit(
                new Commit(copies, replicated.counts()), () -> CommitBuffers.copy(values, copies));
    }

    @Override
    public void restore() {
        commitBuffers
                .last()
                .ifPresent(
                        last -> {
                            CommitBuffers.copy(last.tensors, replicated.tensors());
                            replicated.setCounts(last.counts);
                        });
    }

    @Override
    public void sync(Communicator communicator, int rootRank) {
        replicated.broadcast(communicator, rootRank);
    }
}
