package org.horovod4j.dl4j.keras;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.shade.jackson.core.JsonProcessingException;
import org.nd4j.shade.jackson.databind.JsonNode;
import org.nd4j.shade.jackson.databind.ObjectMapper;
import org.nd4j.shade.jackson.databind.node.ArrayNode;
import org.nd4j.shade.jackson.databind.node.MissingNode;
import org.nd4j.shade.jackson.databind.node.ObjectNode;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/// The description of a network, its loss and its optimizer, translated to that of Keras 2, which DL4J
/// reads.
///
/// Keras 3 describes data types, initializers, the shapes of inputs and the inputs of layers in another
/// way than Keras 2.
final class KerasConfig {
    private static final ObjectMapper JSON = new ObjectMapper();

    /// What DL4J reads; the differences within Keras 2 do not matter.
    private static final String OLD_VERSION = "2.3.1";

    /// Reductions of a loss that are the mean over the batch; empty if Keras has saved none.
    private static final List<String> MEANS = List.of("", "auto", "null", "sum_over_batch_size");

    private static final String CLASS_NAME = "class_name";
    private static final String CONFIG = "config";
    private static final String NAME = "name";
    private static final String LAYERS = "layers";
    private static final String SEQUENTIAL = "Sequential";

    private final Path path;
    private final boolean isOfKeras3;
    private final ObjectNode model;
    private final JsonNode compiled;
    private final JsonNode optimizer;

    /// @param compiled the settings of `compile`; a missing node without them
    private KerasConfig(
            Path path,
            boolean isOfKeras3,
            ObjectNode model,
            JsonNode compiled,
            JsonNode optimizer) {
        this.path = path;
        this.isOfKeras3 = isOfKeras3;
        this.model = model;
        this.compiled = compiled;
        this.optimizer = optimizer;
    }

    /// A layer.
    ///
    /// @param config of this layer alone
    record LayerConfig(String name, String className, JsonNode config) {
        /// The names that Keras 2 gives to the weights, in their order. Empty for unknown classes.
        List<String> weightNames() {
            return switch (className) {
                case "Dense", "Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose" ->
                        List.of("kernel", "bias");
                case "DepthwiseConv2D" -> List.of("depthwise_kernel", "bias");
                case "SeparableConv2D" -> List.of("depthwise_kernel", "pointwise_kernel", "bias");
                case "LSTM", "SimpleRNN" -> List.of("kernel", "recurrent_kernel", "bias");
                case "Embedding" -> List.of("embeddings");
                case "PReLU" -> List.of("alpha");
                case "BatchNormalization" -> {
                    List<String> names = new ArrayList<>();
                    if (config.path("scale").asBoolean(true)) {
                        names.add("gamma");
                    }
                    if (config.path("center").asBoolean(true)) {
                        names.add("beta");
                    }
                    names.add("moving_mean");
                    names.add("moving_variance");
                    yield names;
                }
                default -> List.of();
            };
        }

        /// The name in Keras 2 of a weight with this name in Keras 3.
        String oldName(String newName) {
            return className.equals("DepthwiseConv2D") && newName.equals("kernel")
                    ? "depthwise_kernel"
                    : newName;
        }
    }

    static KerasConfig ofHdf5(Path path, String version, String model, @Nullable String training) {
        boolean isOfKeras3 = version.startsWith("3");
        ObjectNode described = parse(path, model);
        JsonNode compiled = training == null ? MissingNode.getInstance() : parse(path, training);
        return new KerasConfig(
                path, isOfKeras3, described, compiled, compiled.path("optimizer_config"));
    }

    /// @param metadata has the version
    /// @throws ConfigurationException for a file of Keras 2, which has its weights elsewhere
    static KerasConfig ofZip(Path path, String json, String metadata) {
        String version = parse(path, metadata).path("keras_version").asText();
        if (version.startsWith("2")) {
            throw new ConfigurationException(
                    """
                    %s is a .keras file of Keras %s, but only those of Keras 3 are read
                    Save the network as HDF5, by model.save('network.h5')."""
                            .formatted(path, version));
        }
        ObjectNode described = parse(path, json);
        JsonNode compiled = described.path("compile_config");
        return new KerasConfig(path, true, described, compiled, compiled.path("optimizer"));
    }

    private static ObjectNode parse(Path path, String json) {
        try {
            if (JSON.readTree(json) instanceof ObjectNode object) {
                return object;
            }
        } catch (JsonProcessingException e) {
            throw damaged(path, e);
        }
        throw damaged(path, null);
    }

    private static ConfigurationException damaged(Path path, @Nullable Exception cause) {
        return new ConfigurationException(
                "the description of the network in %s is not valid JSON, so the file is damaged"
                        .formatted(path),
                cause);
    }

    boolean isOfKeras3() {
        return isOfKeras3;
    }

    /// @throws ConfigurationException for a model that is a class of the user
    boolean isSequential() {
        String className = model.path(CLASS_NAME).asText();
        return switch (className) {
            case SEQUENTIAL -> true;
            case "Functional", "Model" -> false;
            default ->
                    throw new ConfigurationException(
                            """
                            %s has a model of class %s, whose layers Keras does not save
                            Build it with keras.Sequential, or with the functional API."""
                                    .formatted(path, className));
        };
    }

    /// The layers by name.
    Map<String, LayerConfig> layerConfigs() {
        Map<String, LayerConfig> layers = new LinkedHashMap<>();
        for (JsonNode layer : model.path(CONFIG).path(LAYERS)) {
            String name = layer.path(CONFIG).path(NAME).asText();
            layers.put(
                    name,
                    new LayerConfig(name, layer.path(CLASS_NAME).asText(), layer.path(CONFIG)));
        }
        return layers;
    }

    /// The layers that do not learn: `layer.trainable = False`.
    Set<String> frozenLayers() {
        return layerConfigs().values().stream()
                .filter(layer -> !layer.config.path("trainable").asBoolean(true))
                .map(LayerConfig::name)
                .collect(Collectors.toSet());
    }

    /// @throws ConfigurationException for a setting that DL4J's import would ignore
    void checkLayers() {
        for (LayerConfig layer : layerConfigs().values()) {
            if (!isAbsent(layer.config.path("activity_regularizer"))) {
                throw new ConfigurationException(
                        """
                        layer '%s' of %s has an activity_regularizer, which DL4J does not have
                        Use a kernel_regularizer, or none."""
                                .formatted(layer.name, path));
            }
        }
    }

    /// The network as Keras 2 describes it.
    String modelJson() {
        ObjectNode translated = JSON.createObjectNode();
        translated.set(CLASS_NAME, model.path(CLASS_NAME));
        translated.set(
                CONFIG, isOfKeras3 ? translatedNetwork(model.path(CONFIG)) : model.path(CONFIG));
        translated.put("keras_version", OLD_VERSION);
        translated.put("backend", "tensorflow");
        return translated.toString();
    }

    private static ObjectNode translatedNetwork(JsonNode network) {
        ObjectNode translated = JSON.createObjectNode();
        translated.set(NAME, network.path(NAME));
        ArrayNode layers = translated.putArray(LAYERS);
        network.path(LAYERS).forEach(layer -> layers.add(translatedLayer(layer)));
        for (String ends : List.of("input_layers", "output_layers")) {
            if (network.has(ends)) {
                JsonNode tensors = network.get(ends);
                ArrayNode list = translated.putArray(ends);
                // one tensor is not in a list in Keras 3
                if (tensors.path(0).isTextual()) {
                    list.add(tensors);
                } else {
                    tensors.forEach(list::add);
                }
            }
        }
        return translated;
    }

    private static ObjectNode translatedLayer(JsonNode layer) {
        ObjectNode translated = JSON.createObjectNode();
        translated.set(CLASS_NAME, layer.path(CLASS_NAME));
        ObjectNode config = (ObjectNode) translatedValue(layer.path(CONFIG));
        if (config.has("batch_shape")) {
            config.set("batch_input_shape", config.remove("batch_shape"));
        }
        translated.set(CONFIG, config);
        if (layer.has("inbound_nodes")) {
            translated.set(NAME, layer.path(NAME));
            ArrayNode nodes = translated.putArray("inbound_nodes");
            for (JsonNode node : layer.path("inbound_nodes")) {
                ArrayNode inputs = nodes.addArray();
                addInputs(node.path("args"), inputs);
            }
        }
        return translated;
    }

    /// `{"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}}` becomes
    /// `["x", 0, 0, {}]`.
    private static void addInputs(JsonNode value, ArrayNode inputs) {
        if (value.isArray()) {
            value.forEach(element -> addInputs(element, inputs));
        } else if (value.path(CLASS_NAME).asText().equals("__keras_tensor__")) {
            ArrayNode input = inputs.addArray();
            value.path(CONFIG).path("keras_history").forEach(input::add);
            input.addObject();
        }
    }

    private static JsonNode translatedValue(JsonNode value) {
        if (value.isArray()) {
            ArrayNode list = JSON.createArrayNode();
            value.forEach(element -> list.add(translatedValue(element)));
            return list;
        }
        if (!value.isObject()) {
            return value;
        }
        if (value.path(CLASS_NAME).asText().equals("DTypePolicy")) {
            return value.path(CONFIG).path(NAME);
        }
        ObjectNode translated = JSON.createObjectNode();
        value.fields()
                .forEachRemaining(
                        field -> {
                            switch (field.getKey()) {
                                case "module", "registered_name", "shared_object_id" -> {}
                                default ->
                                        translated.set(
                                                field.getKey(), translatedValue(field.getValue()));
                            }
                        });
        return translated;
    }

    /// The loss, and an optimizer that is replaced: DL4J does not know those of newer versions.
    String trainingJson() {
        ObjectNode training = JSON.createObjectNode();
        training.set("loss", translatedLoss());
        ObjectNode replaced = training.putObject("optimizer_config").put(CLASS_NAME, "SGD");
        replaced.putObject(CONFIG).put("lr", 0.1).put("momentum", 0.0).put("decay", 0.0);
        return training.toString();
    }

    private JsonNode translatedLoss() {
        JsonNode loss = compiled.path("loss");
        if (isAbsent(loss)) {
            throw notCompiled("loss");
        }
        if (!isAbsent(compiled.path("loss_weights"))) {
            throw unsupportedLoss("loss_weights");
        }
        if (loss.isArray()) {
            if (loss.size() != 1) {
                throw new ConfigurationException(
                        """
                        %s has a list of %d losses, which DL4J does not assign to outputs
                        Compile the network with one loss, or with loss={'name of the output': …}."""
                                .formatted(path, loss.size()));
            }
            return translated(loss.get(0));
        }
        if (loss.isObject() && !loss.has(CLASS_NAME)) {
            ObjectNode byOutput = JSON.createObjectNode();
            loss.fields()
                    .forEachRemaining(
                            each -> byOutput.set(each.getKey(), translated(each.getValue())));
            return byOutput;
        }
        return translated(loss);
    }

    private JsonNode translated(JsonNode loss) {
        if (loss.has(CLASS_NAME)) {
            checkLoss(loss.path(CONFIG));
            return JSON.getNodeFactory().textNode(snakeCase(loss.path(CLASS_NAME).asText()));
        }
        return loss;
    }

    private static boolean isAbsent(JsonNode node) {
        return node.isMissingNode() || node.isNull();
    }

    private void checkLoss(JsonNode config) {
        if (config.path("from_logits").asBoolean(false)) {
            throw new ConfigurationException(
                    """
                    the loss of %s computes with logits, but that of DL4J with probabilities
                    Add a softmax or sigmoid layer at the end, and set from_logits=False."""
                            .formatted(path));
        }
        if (config.path("label_smoothing").asDouble(0) != 0) {
            throw unsupportedLoss("label_smoothing");
        }
        String reduction = config.path("reduction").asText();
        if (!MEANS.contains(reduction)) {
            throw unsupportedLoss("reduction '%s'".formatted(reduction));
        }
    }

    private ConfigurationException unsupportedLoss(String setting) {
        return new ConfigurationException(
                """
                the loss of %s has %s, which DL4J does not have
                Compile the network without it, and save it again."""
                        .formatted(path, setting));
    }

    /// `CategoricalCrossentropy` becomes `categorical_crossentropy`.
    private static String snakeCase(String name) {
        return name.replaceAll("(?<=[a-z])(?=[A-Z])", "_").toLowerCase(Locale.ROOT);
    }

    /// @throws ConfigurationException when the file has no optimizer, or one that DL4J does not have
    IUpdater updater() {
        if (isAbsent(optimizer)) {
            throw notCompiled("optimizer");
        }
        return KerasOptimizers.updater(
                path, optimizer.path(CLASS_NAME).asText(), optimizer.path(CONFIG));
    }

    private ConfigurationException notCompiled(String part) {
        return new ConfigurationException(
                """
                %s has no %s, because the network was not compiled when it was saved
                Call model.compile before model.save."""
                        .formatted(path, part));
    }
}
