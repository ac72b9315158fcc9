package org.horovod4j.dl4j;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ProcessSet;
import org.horovod4j.data.Sampling;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.training.LearningRate;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.evaluation.BaseEvaluation;
import org.nd4j.evaluation.IEvaluation;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.evaluation.classification.ROC;
import org.nd4j.evaluation.classification.ROCBinary;
import org.nd4j.evaluation.classification.ROCMultiClass;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.dataset.api.iterator.MultiDataSetIterator;
import org.nd4j.linalg.schedule.ISchedule;
import org.nd4j.linalg.schedule.MapSchedule;
import org.nd4j.linalg.schedule.ScheduleType;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;

/// Horovod4J for a Deeplearning4j program: one-line methods over [Hvd].
///
/// ```java
/// Hvd.init();
/// MultiLayerNetwork network = new MultiLayerNetwork(configuration);
/// network.init();
/// HvdDl4j.broadcastParameters(network, 0);
/// HvdDl4j.distributed(network);
/// network.fit(HvdDl4j.shard(iterator), epochs);
/// if (Hvd.rank() == 0) {
///     network.save(file);
/// }
/// Hvd.shutdown();
/// ```
public final class HvdDl4j {
    private HvdDl4j() {}

    /// Averages the gradient of each step over all ranks before the updater of `network` uses it.
    ///
    /// @return `network`
    /// @throws IllegalStateException when the network is not initialised
    public static MultiLayerNetwork distributed(MultiLayerNetwork network) {
        return distributed(network, _ -> {});
    }

    /// The same with options, such as compression or Adasum:
    ///
    /// ```java
    /// HvdDl4j.distributed(network, options -> options.compressor(Compression.FP16));
    /// ```
    public static MultiLayerNetwork distributed(
            MultiLayerNetwork network, Consumer<GradientSettings.Builder> options) {
        install(network, HvdDl4j::allRanks, options);
        return network;
    }

    /// The same with the ranks of a process set. A rank outside of it trains alone.
    public static MultiLayerNetwork distributed(
            MultiLayerNetwork network,
            ProcessSet processSet,
            Consumer<GradientSettings.Builder> options) {
        install(network, () -> processSet, options);
        return network;
    }

    /// Averages the gradient of each step over all ranks before the updater of `graph` uses it.
    ///
    /// @return `graph`
    /// @throws IllegalStateException when the graph is not initialised
    public static ComputationGraph distributed(ComputationGraph graph) {
        return distributed(graph, _ -> {});
    }

    /// The same with options, such as compression or Adasum.
    public static ComputationGraph distributed(
            ComputationGraph graph, Consumer<GradientSettings.Builder> options) {
        install(graph, HvdDl4j::allRanks, options);
        return graph;
    }

    /// The same with the ranks of a process set. A rank outside of it trains alone.
    public static ComputationGraph distributed(
            ComputationGraph graph,
            ProcessSet processSet,
            Consumer<GradientSettings.Builder> options) {
        install(graph, () -> processSet, options);
        return graph;
    }

    /// Averages the gradients of each step over all ranks before the updaters of a SameDiff graph use them.
    /// The graph has its training configuration. Its loss is a mean over the batch. Each sample of a step
    /// has the same weight, even if the batches of the ranks differ in size.
    ///
    /// @return `graph`
    /// @throws IllegalStateException when the graph has no training configuration
    public static SameDiff distributed(SameDiff graph) {
        return distributed(graph, _ -> {});
    }

    /// The same with options, such as compression or Adasum.
    public static SameDiff distributed(SameDiff graph, Consumer<GradientSettings.Builder> options) {
        install(graph, HvdDl4j::allRanks, options);
        return graph;
    }

    /// The same with the ranks of a process set. A rank outside of it trains alone.
    public static SameDiff distributed(
            SameDiff graph, ProcessSet processSet, Consumer<GradientSettings.Builder> options) {
        install(graph, () -> processSet, options);
        return graph;
    }

    /// The current ranks: in an elastic job they change.
    private static ProcessSet allRanks() {
        return Hvd.communicator().processSet();
    }

    private static void install(
            Model model,
            Supplier<ProcessSet> processSets,
            Consumer<GradientSettings.Builder> options) {
        JavaCppCheck.requireOneVersion();
        TrainableNetwork network = TrainableNetwork.of(model);
        network.requireGradientDescent();
        DistributedUpdaters.install(
                network, new FlatGradient("network", processSets, settings(options)));
    }

    private static void install(
            SameDiff graph,
            Supplier<ProcessSet> processSets,
            Consumer<GradientSettings.Builder> options) {
        JavaCppCheck.requireOneVersion();
        DistributedVariables.install(graph, processSets, settings(options));
    }

    private static GradientSettings settings(Consumer<GradientSettings.Builder> options) {
        GradientSettings.Builder settings = GradientSettings.builder();
        options.accept(settings);
        return settings.build();
    }

    /// Whether [#distributed] was called for this network.
    public static boolean isDistributed(Model network) {
        return DistributedUpdaters.isInstalled(TrainableNetwork.of(network));
    }

    /// Overwrites parameters, the state of the updater and the counts of iterations and epochs with
    /// those of `rootRank`. All ranks call this: once, after `init()`.
    ///
    /// @throws org.horovod4j.MismatchException on all ranks, when their networks differ
    public static void broadcastParameters(Model network, int rootRank) {
        broadcastParameters(Hvd.communicator(), network, rootRank);
    }

    /// The same among the ranks of a communicator.
    public static void broadcastParameters(Communicator communicator, Model network, int rootRank) {
        ReplicatedState.of(network).broadcast(communicator, rootRank);
    }

    /// Overwrites variables, the state of updaters and the counts of iterations and epochs with those of
    /// `rootRank`. All ranks call this: once, after `setTrainingConfig`.
    ///
    /// @throws org.horovod4j.MismatchException on all ranks, when their graphs differ
    public static void broadcastParameters(SameDiff graph, int rootRank) {
        broadcastParameters(Hvd.communicator(), graph, rootRank);
    }

    /// The same among the ranks of a communicator.
    public static void broadcastParameters(
            Communicator communicator, SameDiff graph, int rootRank) {
        ReplicatedState.of(graph).broadcast(communicator, rootRank);
    }

    /// This rank's batches of any iterator. See [ShardedDataSetIterator].
    public static DataSetIterator shard(DataSetIterator all) {
        return new ShardedDataSetIterator(all, Hvd.rank(), Hvd.size());
    }

    /// This rank's batches of any iterator. See [ShardedMultiDataSetIterator].
    public static MultiDataSetIterator shard(MultiDataSetIterator all) {
        return new ShardedMultiDataSetIterator(all, Hvd.rank(), Hvd.size());
    }

    /// This rank's part of data in memory.
    ///
    /// @param batchSize samples of one batch on one rank
    /// @param sampling the order of the samples in each epoch
    public static SampledDataSetIterator shard(DataSet all, int batchSize, Sampling sampling) {
        return SampledDataSetIterator.of(
                all, sampling.shard(all.numExamples(), batchSize, Hvd.communicator()));
    }

    /// Evaluates with this rank's part of the data, and merges the results of all ranks. All ranks call
    /// this, and get the same result.
    ///
    /// @param part as [#shard] returns it, or the whole data on one rank and none on the others
    public static Evaluation evaluate(MultiLayerNetwork network, DataSetIterator part) {
        return merge(network.evaluate(part));
    }

    /// The same for a graph.
    public static Evaluation evaluate(ComputationGraph graph, DataSetIterator part) {
        return merge(graph.evaluate(part));
    }

    /// Merges evaluations of all ranks, of any kind but [ROC] in exact mode. All ranks call this, and get the
    /// same result.
    ///
    /// @throws IllegalArgumentException for an exact `ROC`, `ROCBinary` or `ROCMultiClass`
    public static <T extends IEvaluation<T>> T merge(T ofThisRank) {
        return merge(Hvd.communicator(), ofThisRank);
    }

    /// The same among the ranks of a communicator.
    @SuppressWarnings("unchecked") // each rank sends an evaluation of the same class
    public static <T extends IEvaluation<T>> T merge(Communicator communicator, T ofThisRank) {
        requireThresholds(ofThisRank);
        List<String> all = communicator.allgatherObject("evaluation", ofThisRank.toJson());
        Class<T> kind = (Class<T>) ofThisRank.getClass();
        T merged = BaseEvaluation.fromJson(all.getFirst(), kind);
        all.stream().skip(1).forEach(json -> merged.merge(BaseEvaluation.fromJson(json, kind)));
        return merged;
    }

    /// An exact ROC keeps all predictions, which are not part of its JSON.
    private static void requireThresholds(IEvaluation<?> evaluation) {
        int steps =
                switch (evaluation) {
                    case ROC roc -> roc.getThresholdSteps();
                    case ROCBinary roc -> roc.getThresholdSteps();
                    case ROCMultiClass roc -> roc.getThresholdSteps();
                    default -> 1;
                };
        if (steps == 0) {
            String name = evaluation.getClass().getSimpleName();
            throw new IllegalArgumentException(
                    """
                    an exact %s cannot be merged: it keeps all predictions of its rank
                    Use thresholds, for example new %s(200)."""
                            .formatted(name, name));
        }
    }

    /// A learning rate of `org.horovod4j.training`, such as a warm-up, as a schedule for an updater of
    /// DL4J:
    ///
    /// ```java
    /// new Adam(HvdDl4j.schedule(LearningRateWarmup.to(rate, Hvd.size(), 5, epochs), steps))
    /// ```
    ///
    /// It is a schedule of DL4J with a value for each change of the rate. So a network that is saved
    /// with it can be loaded without Horovod4J.
    ///
    /// @param updates of the whole training on one rank; later ones have the rate of the last one
    public static ISchedule schedule(LearningRate rate, int updates) {
        if (updates < 1) {
            throw new IllegalArgumentException(
                    "a schedule for %d updates: give the number of batches of one rank in all epochs"
                            .formatted(updates));
        }
        Map<Integer, Double> changes = new TreeMap<>();
        float last = Float.NaN;
        for (int i = 0; i < updates; i++) {
            float now = rate.at(i + 1);
            if (now != last) {
                changes.put(i, (double) now);
                last = now;
            }
        }
        return new MapSchedule(ScheduleType.ITERATION, changes);
    }
}
