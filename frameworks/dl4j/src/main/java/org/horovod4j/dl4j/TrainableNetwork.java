package org.horovod4j.dl4j;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.OptimizationAlgorithm;
import org.deeplearning4j.nn.api.Updater;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.horovod4j.Tensor;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/// What both kinds of DL4J networks have.
public sealed interface TrainableNetwork extends ReplicatedState {
    /// Layers one after the other.
    record Layers(MultiLayerNetwork model) implements TrainableNetwork {
        @Override
        public Updater updater() {
            return model.getUpdater();
        }

        @Override
        public Collection<TrainingListener> listeners() {
            return model.getListeners();
        }

        @Override
        public void addListener(TrainingListener listener) {
            model.addListeners(listener);
        }

        @Override
        public boolean isInitialized() {
            return model.isInitCalled();
        }

        @Override
        public Counts counts() {
            return new Counts(
                    model.getLayerWiseConfigurations().getIterationCount(),
                    model.getLayerWiseConfigurations().getEpochCount());
        }

        @Override
        public void setCounts(Counts counts) {
            model.getLayerWiseConfigurations().setIterationCount(counts.iterations());
            model.getLayerWiseConfigurations().setEpochCount(counts.epochs());
        }
    }

    /// A graph of layers.
    record Graph(ComputationGraph model) implements TrainableNetwork {
        @Override
        public Updater updater() {
            return model.getUpdater();
        }

        @Override
        public Collection<TrainingListener> listeners() {
            return model.getListeners();
        }

        @Override
        public void addListener(TrainingListener listener) {
            model.addListeners(listener);
        }

        @Override
        public boolean isInitialized() {
            return model.params() != null;
        }

        @Override
        public Counts counts() {
            return new Counts(
                    model.getConfiguration().getIterationCount(),
                    model.getConfiguration().getEpochCount());
        }

        @Override
        public void setCounts(Counts counts) {
            model.getConfiguration().setIterationCount(counts.iterations());
            model.getConfiguration().setEpochCount(counts.epochs());
        }
    }

    /// The network that `model` is.
    ///
    /// @throws IllegalArgumentException when it is no network
    /// @throws IllegalStateException when it is not initialised
    static TrainableNetwork of(Model model) {
        TrainableNetwork network =
                switch (model) {
                    case MultiLayerNetwork layers -> new Layers(layers);
                    case ComputationGraph graph -> new Graph(graph);
                    default ->
                            throw new IllegalArgumentException(
                                    "a %s is not trained with Horovod4J: use a MultiLayerNetwork or a ComputationGraph"
                                            .formatted(model.getClass().getName()));
                };
        if (!network.isInitialized()) {
            throw new IllegalStateException(
                    "the network has no parameters yet: call init() on it first");
        }
        return network;
    }

    Model model();

    Updater updater();

    Collection<TrainingListener> listeners();

    void addListener(TrainingListener listener);

    boolean isInitialized();

    /// Other algorithms call the network a different number of times on each rank.
    ///
    /// @throws IllegalArgumentException for another algorithm than gradient descent
    default void requireGradientDescent() {
        OptimizationAlgorithm algorithm = model().conf().getOptimizationAlgo();
        if (algorithm != OptimizationAlgorithm.STOCHASTIC_GRADIENT_DESCENT) {
            throw new IllegalArgumentException(
                    """
                    the network is optimized by %s, but only STOCHASTIC_GRADIENT_DESCENT can be distributed
                    Set optimizationAlgo(OptimizationAlgorithm.STOCHASTIC_GRADIENT_DESCENT); the updater, such as \
                    Adam, is a separate choice."""
                            .formatted(algorithm));
        }
    }

    @Override
    default Map<String, Tensor> tensors() {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        tensors.put("parameters", ArrayTensors.view(model().params()));
        INDArray state = updater().getStateViewArray(); // none with plain SGD
        if (state != null && !state.isEmpty()) {
            tensors.put("updater", ArrayTensors.view(state));
        }
        return tensors;
    }
}
