package org.horovod4j.dl4j.training;

import org.deeplearning4j.nn.api.Model;
import org.horovod4j.Communicator;
import org.horovod4j.Tensor;
import org.horovod4j.dl4j.HvdDl4j;
import org.horovod4j.dl4j.TrainableNetwork;
import org.horovod4j.dl4j.TrainableNetwork.Counts;
import org.horovod4j.elastic.CommitBuffers;
import org.horovod4j.elastic.State;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/// A network of DL4J for elastic training: its parameters, the state of its updater, and the counts of
/// iterations and epochs.
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
    private final Model model;
    private final CommitBuffers<Commit> commitBuffers =
            new CommitBuffers<>(() -> "the network and the state of its updater");

    /// The content of a commit.
    private record Commit(Map<String, Tensor> tensors, Counts counts) {}

    /// @param network initialised, on new workers too
    public Dl4jState(Model network) {
        TrainableNetwork _ = TrainableNetwork.of(network); // fail now, not at the first commit
        this.model = network;
    }

    @Override
    protected void save() {
        TrainableNetwork network = TrainableNetwork.of(model);
        Map<String, Tensor> values = network.tensors();
        Map<String, Tensor> copies =
                commitBuffers.spare().map(Commit::tensors).orElseGet(() -> copies(values));
        commitBuffers.commit(new Commit(copies, network.counts()), () -> copy(values, copies));
    }

    private static Map<String, Tensor> copies(Map<String, Tensor> values) {
        Map<String, Tensor> copies = new LinkedHashMap<>();
        values.forEach((name, tensor) -> copies.put(name, tensor.copy()));
        return copies;
    }

    private static void copy(Map<String, Tensor> from, Map<String, Tensor> to) {
        from.forEach(
                (name, tensor) ->
                        Objects.requireNonNull(to.get(name), name)
                                .segment()
                                .copyFrom(tensor.segment()));
    }

    @Override
    public void restore() {
        commitBuffers
                .last()
                .ifPresent(
                        last -> {
                            TrainableNetwork network = TrainableNetwork.of(model);
                            copy(last.tensors, network.tensors());
                            network.setCounts(last.counts);
                        });
    }

    @Override
    public void sync(Communicator communicator, int rootRank) {
        HvdDl4j.broadcastParameters(communicator, model, rootRank);
    }
}
