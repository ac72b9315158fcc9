package org.horovod4j.dl4j.training;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.data.Sampling;
import org.horovod4j.dl4j.HvdDl4j;
import org.horovod4j.dl4j.ReplicatedState;
import org.horovod4j.dl4j.TestGraph;
import org.horovod4j.dl4j.TestNetwork;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ElasticSampler;
import org.horovod4j.elastic.ObjectState;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.linalg.dataset.DataSet;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Trains a network and a SameDiff graph with Adam until a file appears, whose name is the argument. Prints
/// a hash of their parameters and of the state of their updaters when a generation begins and at the end.
/// Both are built once, before `init`.
final class ElasticDl4jWorker {
    private static final int BATCH = 4;

    private final MultiLayerNetwork network;
    private final SameDiff graph;
    private final List<DataSet> samples = TestNetwork.DENSE.batch(0, 64).asList();
    private final ElasticSampler sampler = new ElasticSampler(64, Sampling.shuffled(42));
    private final ObjectState state;
    private final Path end;

    private ElasticDl4jWorker(Path end) {
        long seed = ProcessHandle.current().pid(); // another network on each worker
        this.network = HvdDl4j.distributed((MultiLayerNetwork) TestNetwork.DENSE.create(seed));
        this.graph = HvdDl4j.distributed(TestGraph.create(seed % 100 / 100.0));
        this.state =
                new ObjectState()
                        .with("network", new Dl4jState(network))
                        .with("graph", new Dl4jState(graph))
                        .with("sampler", sampler)
                        .with("step", 0);
        this.end = end;
    }

    public static void main(String[] arguments) {
        new ElasticDl4jWorker(Path.of(arguments[0])).run();
        Hvd.shutdown();
    }

    private void run() {
        if (Elastic.run(state, _ -> train())) {
            printEvent("done");
        }
    }

    private void train() {
        printEvent("begin");
        boolean hasMore = true;
        while (hasMore) {
            if (!sampler.hasNext(BATCH)) {
                sampler.nextEpoch();
            }
            DataSet batch = batch(sampler.nextBatch(BATCH));
            network.fit(batch);
            graph.fit(batch);
            state.set("step", state.getInt("step") + 1);
            float[] isLast = {Files.exists(end) ? 1 : 0}; // not seen by all at once
            Hvd.allreduce("last", isLast, ReduceOp.MAX);
            hasMore = isLast[0] == 0;
            if (hasMore) {
                state.commit();
            }
        }
    }

    private DataSet batch(int[] indices) {
        return DataSet.merge(IntStream.of(indices).mapToObj(samples::get).toList());
    }

    private void printEvent(String event) {
        int content =
                Stream.of(ReplicatedState.of(network), ReplicatedState.of(graph))
                        .flatMap(it -> it.tensors().values().stream())
                        .mapToInt(it -> Arrays.hashCode(it.toFloatArray()))
                        .reduce(1, (sum, next) -> 31 * sum + next);
        IO.println(
                "%s generation=%d rank=%d size=%d pid=%d step=%d iterations=%d content=%08x"
                        .formatted(
                                event,
                                Hvd.membership().generation(),
                                Hvd.rank(),
                                Hvd.size(),
                                ProcessHandle.current().pid(),
                                state.getInt("step"),
                                network.getIterationCount(),
                                content));
    }
}
