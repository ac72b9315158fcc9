package org.horovod4j.dl4j.keras;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.dropout.Dropout;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.modelimport.keras.KerasLayer;
import org.deeplearning4j.nn.modelimport.keras.KerasModel;
import org.deeplearning4j.nn.modelimport.keras.KerasSequentialModel;
import org.deeplearning4j.nn.modelimport.keras.exceptions.InvalidKerasConfigurationException;
import org.deeplearning4j.nn.modelimport.keras.exceptions.UnsupportedKerasConfigurationException;
import org.deeplearning4j.nn.modelimport.keras.layers.KerasLoss;
import org.deeplearning4j.nn.modelimport.keras.utils.KerasModelBuilder;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.IUpdater;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;

/// Reads networks that Keras has saved, with their weights, loss and optimizer.
///
/// ```java
/// MultiLayerNetwork network = KerasModels.loadSequential(Path.of("mnist.keras"));
/// HvdDl4j.distributed(network);
/// ```
///
/// | file | written by |
/// |---|---|
/// | `.h5`    | `model.save("x.h5")` of Keras 2 and 3    |
/// | `.keras` | `model.save("x.keras")` of Keras 3       |
///
/// DL4J builds the network, so it supports the layers that DL4J's model import does. Images have the
/// order of dimensions that the network was built with in Keras: usually samples, height, width,
/// channels.
public final class KerasModels {
    private KerasModels() {}

    /// Reads a network with the loss and the optimizer that it was compiled with.
    ///
    /// @return a [MultiLayerNetwork] for a `Sequential` model, otherwise a [ComputationGraph]
    /// @throws IOException when the file cannot be read
    /// @throws ConfigurationException when it has no network, loss or optimizer, or one that DL4J does
    ///     not have
    public static Model load(Path file) throws IOException {
        return read(file, null);
    }

    /// Reads a network with another optimizer.
    ///
    /// @param updater in place of the optimizer of the file
    public static Model load(Path file, IUpdater updater) throws IOException {
        return read(file, updater);
    }

    /// Reads a `Sequential` model. See [#load].
    public static MultiLayerNetwork loadSequential(Path file) throws IOException {
        if (load(file) instanceof MultiLayerNetwork network) {
            return network;
        }
        throw new ConfigurationException(
                "%s has a functional model: use KerasModels.loadFunctional".formatted(file));
    }

    /// Reads a functional model. See [#load].
    public static ComputationGraph loadFunctional(Path file) throws IOException {
        if (load(file) instanceof ComputationGraph graph) {
            return graph;
        }
        throw new ConfigurationException(
                "%s has a Sequential model: use KerasModels.loadSequential".formatted(file));
    }

    private static Model read(Path path, @Nullable IUpdater updater) throws IOException {
        try (KerasFile file = KerasFile.open(path)) {
            try {
                file.config().checkLayers();
                Model network = build(file, updater);
                removeUselessDropout(network);
                return freeze(network, file.config().frozenLayers());
            } catch (InvalidKerasConfigurationException
                    | UnsupportedKerasConfigurationException e) {
                throw new ConfigurationException(
                        """
                        DL4J cannot build the network of %s: %s
                        Use layers, losses and initializers that DL4J's model import has."""
                                .formatted(path, e.getMessage()),
                        e);
            }
        }
    }

    private static Model build(KerasFile file, @Nullable IUpdater updater)
            throws IOException,
                    InvalidKerasConfigurationException,
                    UnsupportedKerasConfigurationException {
        KerasConfig config = file.config();
        IUpdater chosen = updater != null ? updater : config.updater();
        KerasModelBuilder builder = new KerasModel().modelBuilder();
        builder.setModelJson(config.modelJson());
        builder.setTrainingJson(config.trainingJson());
        builder.setEnforceTrainingConfig(true);
        file.oldWeights().ifPresent(builder::setWeightsArchive);
        builder.setWeightsRoot(KerasFile.WEIGHTS);
        if (config.isSequential()) {
            KerasSequentialModel model = builder.buildSequential();
            complete(model, file, chosen);
            return model.getMultiLayerNetwork();
        }
        KerasModel model = builder.buildModel();
        complete(model, file, chosen);
        return model.getComputationGraph();
    }

    private static void complete(KerasModel model, KerasFile file, IUpdater updater)
            throws InvalidKerasConfigurationException, UnsupportedKerasConfigurationException {
        model.setOptimizer(updater);
        for (KerasLayer layer : model.getLayersOrdered()) {
            if (layer instanceof KerasLoss loss) {
                InputType outputs =
                        model.getOutputTypes().get(loss.getInboundLayerNames().getFirst());
                loss.setLoss(KerasLosses.asInKeras(file.path(), loss.getLoss(), outputs));
                FeedForwardLayer _ = loss.getLossLayer(outputs); // builds it again
            }
        }
        setWeights(model, file);
    }

    /// DL4J reads the weights of Keras 2 itself.
    private static void setWeights(KerasModel model, KerasFile file)
            throws InvalidKerasConfigurationException, UnsupportedKerasConfigurationException {
        if (file.oldWeights().isPresent()) {
            return;
        }
        Map<String, Map<String, INDArray>> weights = file.weights(file.config().layerConfigs());
        for (KerasLayer layer : model.getLayersOrdered()) {
            if (layer.getNumParams() > 0) {
                Map<String, INDArray> own = weights.get(layer.getLayerName());
                if (own == null || own.isEmpty()) {
                    throw new InvalidKerasConfigurationException(
                            "the file has no weights for layer '%s'"
                                    .formatted(layer.getLayerName()));
                }
                layer.setWeights(own);
            }
        }
    }

    /// DL4J's import adds a dropout that keeps everything, which fails in a convolution whose channels are last.
    private static void removeUselessDropout(Model network) {
        Layer[] layers =
                network instanceof MultiLayerNetwork list
                        ? list.getLayers()
                        : ((ComputationGraph) network).getLayers();
        for (Layer layer : layers) {
            org.deeplearning4j.nn.conf.layers.Layer config = layer.conf().getLayer();
            if (config.getIDropout() instanceof Dropout dropout && dropout.getP() == 1) {
                config.setIDropout(null);
            }
        }
    }

    /// DL4J's import lets all layers learn.
    ///
    /// @param names of the layers that do not learn
    private static Model freeze(Model network, Set<String> names) {
        if (names.isEmpty()) {
            return network;
        }
        return switch (network) {
            case MultiLayerNetwork layers -> {
                MultiLayerConfiguration config = layers.getLayerWiseConfigurations().clone();
                config.getConfs().forEach(each -> freeze(each, names));
                MultiLayerNetwork frozen = new MultiLayerNetwork(config);
                frozen.init(layers.params(), true);
                yield frozen;
            }
            case ComputationGraph graph -> {
                ComputationGraphConfiguration config = graph.getConfiguration().clone();
                for (GraphVertex vertex : config.getVertices().values()) {
                    if (vertex instanceof LayerVertex layer) {
                        freeze(layer.getLayerConf(), names);
                    }
                }
                ComputationGraph frozen = new ComputationGraph(config);
                frozen.init(graph.params(), true);
                yield frozen;
            }
            default -> throw new IllegalArgumentException(network.getClass().getName());
        };
    }

    private static void freeze(NeuralNetConfiguration config, Set<String> names) {
        org.deeplearning4j.nn.conf.layers.Layer layer = config.getLayer();
        if (names.contains(layer.getLayerName()) && layer.initializer().numParams(config) > 0) {
            FrozenLayer frozen = new FrozenLayer(layer);
            frozen.setLayerName(layer.getLayerName());
            config.setLayer(frozen);
        }
    }
}
