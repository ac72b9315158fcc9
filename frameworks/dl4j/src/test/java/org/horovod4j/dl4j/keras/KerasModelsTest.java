package org.horovod4j.dl4j.keras;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.horovod4j.ConfigurationException;
import org.horovod4j.dl4j.HvdDl4j;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.schedule.InverseSchedule;
import org.nd4j.linalg.schedule.ScheduleType;
import org.nd4j.linalg.schedule.StepSchedule;
import org.nd4j.shade.jackson.databind.JsonNode;
import org.nd4j.shade.jackson.databind.ObjectMapper;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/// The files are written by `make-models.py`, beside them.
class KerasModelsTest {
    private static final Path FOLDER = Path.of("src/test/resources/keras");
    private static final Offset<Float> CLOSE = Offset.offset(1e-5f);

    private static final String SQUARED_ERROR =
            "\"class_name\": \"MeanSquaredError\", \"config\": {\"name\": \"mean_squared_error\"";

    @TempDir private Path folder;

    private static float[] numbers(String network, String field) throws IOException {
        JsonNode all =
                new ObjectMapper()
                        .readTree(Files.readString(FOLDER.resolve("expected.json")))
                        .path(network)
                        .path(field);
        float[] numbers = new float[all.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (float) all.get(i).asDouble();
        }
        return numbers;
    }

    private static float[] output(Model model, INDArray input) {
        INDArray output =
                switch (model) {
                    case MultiLayerNetwork network -> network.output(input);
                    case ComputationGraph graph -> graph.outputSingle(input);
                    default -> throw new IllegalArgumentException(model.toString());
                };
        return output.dup('c').data().asFloat();
    }

    private static INDArray input(String network, int... shape) throws IOException {
        return Nd4j.create(numbers(network, "inputs"), shape, 'c');
    }

    private static IUpdater updater(Model model) {
        org.deeplearning4j.nn.api.Layer[] layers =
                model instanceof MultiLayerNetwork network
                        ? network.getLayers()
                        : ((ComputationGraph) model).getLayers();
        return ((BaseLayer) layers[0].conf().getLayer()).getIUpdater();
    }

    @ParameterizedTest
    @ValueSource(strings = {"images.keras", "images.h5", "images-keras2.h5"})
    void aConvolutionalNetworkComputesWhatKerasDoes(String file) throws IOException {
        MultiLayerNetwork network = KerasModels.loadSequential(FOLDER.resolve(file));
        assertThat(output(network, input("images", 2, 6, 6, 1)))
                .containsExactly(numbers("images", "outputs"), CLOSE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"branches.keras", "branches.h5", "branches-keras2.h5"})
    void aFunctionalNetworkComputesWhatKerasDoes(String file) throws IOException {
        ComputationGraph graph = KerasModels.loadFunctional(FOLDER.resolve(file));
        assertThat(output(graph, input("branches", 3, 4)))
                .containsExactly(numbers("branches", "outputs"), CLOSE);
        Nesterovs updater = (Nesterovs) updater(graph);
        assertThat(updater.getLearningRate()).isCloseTo(0.1, Offset.offset(1e-6));
        assertThat(updater.getMomentum()).isEqualTo(0.9);
    }

    @ParameterizedTest
    @ValueSource(strings = {"sequences.keras", "sequences.h5"})
    void aRecurrentNetworkComputesWhatKerasDoes(String file) throws IOException {
        Model network = KerasModels.load(FOLDER.resolve(file));
        assertThat(output(network, input("sequences", 2, 5, 2)))
                .containsExactly(numbers("sequences", "outputs"), CLOSE);
        RmsProp updater = (RmsProp) updater(network);
        assertThat(updater.getLearningRateSchedule())
                .isEqualTo(new StepSchedule(ScheduleType.ITERATION, 0.01, 0.5, 100));
    }

    @Test
    void optimizerAndLearningRateAreTakenOver() throws IOException {
        Adam updater = (Adam) updater(KerasModels.load(FOLDER.resolve("images.keras")));
        assertThat(updater.getLearningRate()).isCloseTo(0.002, Offset.offset(1e-8));
        assertThat(updater.getBeta1()).isEqualTo(0.8);
        assertThat(updater.getEpsilon()).isEqualTo(1e-7);
        Adam old = (Adam) updater(KerasModels.load(FOLDER.resolve("images-keras2.h5")));
        assertThat(old.getLearningRateSchedule())
                .isEqualTo(new InverseSchedule(ScheduleType.ITERATION, 0.002, 0.01, 1));
        assertThat(updater(KerasModels.load(FOLDER.resolve("adamw.keras"), new Sgd(0.5))))
                .isEqualTo(new Sgd(0.5));
    }

    /// Keras divides the squared error by the number of outputs.
    @Test
    void theLossIsThatOfKeras() throws IOException {
        ComputationGraph graph = KerasModels.loadFunctional(FOLDER.resolve("branches.keras"));
        float[] outputs = numbers("branches", "outputs");
        double sum = 0;
        for (float output : outputs) {
            sum += output * output;
        }
        INDArray input = input("branches", 3, 4);
        assertThat(graph.score(new DataSet(input, Nd4j.zeros(3, 2))))
                .isCloseTo(sum / outputs.length, Offset.offset(1e-5));
    }

    @Test
    void networksOfKerasTrainOnTwoRanks() throws IOException {
        INDArray inputs = input("images", 2, 6, 6, 1);
        INDArray labels = Nd4j.create(new float[] {1, 0, 0, 0, 0, 1}, new int[] {2, 3}, 'c');
        List<float[]> ranks =
                World.of(2)
                        .call(
                                comm -> {
                                    MultiLayerNetwork network =
                                            KerasModels.loadSequential(
                                                    FOLDER.resolve("images.keras"));
                                    HvdDl4j.broadcastParameters(comm, network, 0);
                                    HvdDl4j.distributed(network, comm.processSet(), _ -> {});
                                    DataSet all = new DataSet(inputs, labels);
                                    double before = network.score(all);
                                    Nd4j.getRandom().setSeed(7);
                                    for (int i = 0; i < 60; i++) {
                                        network.fit(all);
                                    }
                                    assertThat(network.score(all)).isLessThan(before / 2);
                                    return network.params().dup().data().asFloat();
                                });
        assertThat(ranks.getFirst()).containsExactly(ranks.getLast());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "not-compiled.keras | has no optimizer, because the network was not compiled",
                "adamw.keras | DL4J has no optimizer AdamW",
                "only.weights.h5 | has weights, but no network",
                "expected.json | is not a file of Keras"
            })
    void otherFilesAreRejected(String file, String message) {
        assertThatThrownBy(() -> KerasModels.load(FOLDER.resolve(file)))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(file)
                .hasMessageContaining(message);
    }

    @Test
    void anotherZipArchiveIsRejected() throws IOException {
        Path zip = folder.resolve("x.keras");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(zip))) {
            out.putNextEntry(new ZipEntry("readme.txt"));
        }
        assertThatThrownBy(() -> KerasModels.load(zip))
                .hasMessageContaining("is a zip archive without config.json");
    }

    @Test
    void theKindOfNetworkIsChecked() {
        assertThatThrownBy(() -> KerasModels.loadFunctional(FOLDER.resolve("images.keras")))
                .hasMessageContaining("use KerasModels.loadSequential");
        assertThatThrownBy(() -> KerasModels.loadSequential(FOLDER.resolve("branches.keras")))
                .hasMessageContaining("use KerasModels.loadFunctional");
    }

    /// A copy of a file with another description of the network.
    private Path changed(String file, UnaryOperator<String> change) throws IOException {
        return changed(file, "config.json", change);
    }

    /// @param part of the archive; its bytes are characters of ISO 8859-1
    private Path changed(String file, String part, UnaryOperator<String> change)
            throws IOException {
        Path copy = folder.resolve("changed-" + file);
        try (ZipFile from = new ZipFile(FOLDER.resolve(file).toFile());
                ZipOutputStream to = new ZipOutputStream(Files.newOutputStream(copy))) {
            for (ZipEntry entry : Collections.list(from.entries())) {
                byte[] content = from.getInputStream(entry).readAllBytes();
                if (entry.getName().equals(part)) {
                    String before = new String(content, StandardCharsets.ISO_8859_1);
                    String after = change.apply(before);
                    assertThat(after).isNotEqualTo(before);
                    content = after.getBytes(StandardCharsets.ISO_8859_1);
                }
                to.putNextEntry(new ZipEntry(entry.getName()));
                to.write(content);
            }
        }
        return copy;
    }

    private static UnaryOperator<String> setting(String json) {
        String name = json.substring(0, json.indexOf(':') + 1);
        return config -> config.replaceFirst(Pattern.quote(name) + " [^,}]+", json);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "branches.keras | 'reduction': 'sum' | the loss of * has reduction 'sum'",
                "branches.keras | 'loss_weights': [2.0] | the loss of * has loss_weights",
                "images.keras | 'clipnorm': 1.0 | DL4J has no clipnorm of optimizer Adam",
                "images.keras | 'gradient_accumulation_steps': 2 | DL4J has no gradient_accumulation_steps",
                "images.keras | 'class_name': 'Adadelta' | DL4J's AdaDelta has no learning rate, but that of * has 0.002",
                "sequences.keras | 'momentum': 0.5 | DL4J has no momentum of optimizer RMSprop",
                "sequences.keras | 'centered': true | DL4J has no centered of optimizer RMSprop",
                "images.keras | 'activity_regularizer': 'l2' | has an activity_regularizer"
            })
    void settingsThatDl4jLacksAreRejected(String file, String json, String message)
            throws IOException {
        String quoted = json.replace('\'', '"');
        UnaryOperator<String> change =
                quoted.contains("Adadelta")
                        ? config -> config.replace("\"class_name\": \"Adam\"", quoted)
                        : setting(quoted);
        Path changed = changed(file, change);
        assertThatThrownBy(() -> KerasModels.load(changed))
                .isInstanceOf(ConfigurationException.class)
                .message()
                .contains(changed.toString())
                .matches("(?s).*" + message.replace("*", ".*") + ".*");
    }

    private static UnaryOperator<String> loss(String className) {
        return config ->
                config.replace(
                        SQUARED_ERROR,
                        "\"class_name\": \"%s\", \"config\": {\"name\": \"loss\""
                                .formatted(className));
    }

    /// Keras divides the cross-entropy by the number of outputs.
    @Test
    void theBinaryCrossEntropyIsThatOfKeras() throws IOException {
        ComputationGraph graph =
                KerasModels.loadFunctional(
                        changed(
                                "branches.keras",
                                config ->
                                        loss("BinaryCrossentropy")
                                                .apply(config)
                                                .replace(
                                                        "\"activation\": \"linear\"",
                                                        "\"activation\": \"sigmoid\"")));
        INDArray input = input("branches", 3, 4);
        float[] probabilities = output(graph, input);
        double sum = 0;
        for (float probability : probabilities) {
            sum -= Math.log(1 - probability);
        }
        assertThat(graph.score(new DataSet(input, Nd4j.zeros(3, 2))))
                .isCloseTo(sum / probabilities.length, Offset.offset(1e-5));
    }

    @ParameterizedTest
    @ValueSource(strings = {"Hinge", "SquaredHinge", "Poisson"})
    void otherSumsOverSeveralOutputsAreRejected(String className) throws IOException {
        Path changed = changed("branches.keras", loss(className));
        assertThatThrownBy(() -> KerasModels.load(changed))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(changed.toString())
                .hasMessageContaining("it is a mean in Keras, but a sum in DL4J");
    }

    /// Keras divides it by the number of times too.
    @Test
    void theLossOfSequencesIsThatOfKeras() throws IOException {
        MultiLayerNetwork network =
                KerasModels.loadSequential(
                        changed(
                                "sequences.keras",
                                config ->
                                        config.replace(
                                                        "\"return_sequences\": false",
                                                        "\"return_sequences\": true")
                                                .replace(
                                                        "\"loss\": \"categorical_crossentropy\"",
                                                        "\"loss\": \"mse\"")));
        INDArray input = input("sequences", 2, 5, 2);
        INDArray outputs = network.output(input);
        double mean = outputs.mul(outputs).meanNumber().doubleValue();
        assertThat(outputs.length()).isEqualTo(2 * 5 * 2);
        assertThat(network.score(new DataSet(input, Nd4j.zeros(outputs.shape()))))
                .isCloseTo(mean, Offset.offset(1e-5));
    }

    private static UnaryOperator<String> losses(String json) {
        return config ->
                config.replaceFirst("\"loss\": (\"[a-z_]+\"|\\{.*?null\\})", "\"loss\": " + json);
    }

    @Test
    void aLossMayBeInAListOrByTheNameOfTheOutput() throws IOException {
        INDArray input = input("branches", 3, 4);
        DataSet batch = new DataSet(input, Nd4j.zeros(3, 2));
        double expected = KerasModels.loadFunctional(FOLDER.resolve("branches.keras")).score(batch);
        for (String json : List.of("[\"mse\"]", "{\"out\": \"mse\"}")) {
            ComputationGraph graph =
                    KerasModels.loadFunctional(changed("branches.keras", losses(json)));
            assertThat(graph.score(batch)).as(json).isEqualTo(expected);
        }
        Path several = changed("images.keras", losses("[\"mse\", \"mae\"]"));
        assertThatThrownBy(() -> KerasModels.load(several))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("has a list of 2 losses");
    }

    @Test
    void aZipArchiveOfKeras2IsRejected() throws IOException {
        Path changed =
                changed(
                        "images.keras",
                        "metadata.json",
                        metadata -> metadata.replaceFirst("\"3\\.[0-9.]+\"", "\"2.13.1\""));
        assertThatThrownBy(() -> KerasModels.load(changed))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("is a .keras file of Keras 2.13.1")
                .hasMessageContaining("model.save('network.h5')");
    }

    @Test
    void weightsWithoutTheNameOfALayerAreRejected() throws IOException {
        Path changed =
                changed(
                        "images.keras",
                        "model.weights.h5",
                        bytes -> bytes.replace("name\0", "nome\0"));
        assertThatThrownBy(() -> KerasModels.load(changed))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("have no name of a layer");
    }

    @Test
    void smoothedLabelsAreRejected() throws IOException {
        Path changed =
                changed(
                        "branches.keras",
                        config ->
                                config.replace(
                                        "\"name\": \"mean_squared_error\"",
                                        "\"label_smoothing\": 0.1"));
        assertThatThrownBy(() -> KerasModels.load(changed))
                .hasMessageContaining("has label_smoothing");
    }

    private static UnaryOperator<String> freezing(String layer) {
        return config ->
                config.replace(
                        "\"name\": \"%s\", \"trainable\": true".formatted(layer),
                        "\"name\": \"%s\", \"trainable\": false".formatted(layer));
    }

    @Test
    void layersThatAreNotTrainableKeepTheirWeights() throws IOException {
        MultiLayerNetwork network =
                KerasModels.loadSequential(changed("images.keras", freezing("edges")));
        INDArray inputs = input("images", 2, 6, 6, 1);
        assertThat(output(network, inputs)).containsExactly(numbers("images", "outputs"), CLOSE);
        INDArray frozen = network.getLayer("edges").params().dup();
        INDArray learned = network.getLayer("classes").params().dup();
        network.fit(inputs, Nd4j.create(new float[] {1, 0, 0, 0, 0, 1}, new int[] {2, 3}, 'c'));
        assertThat(network.getLayer("edges").params()).isEqualTo(frozen);
        assertThat(network.getLayer("classes").params()).isNotEqualTo(learned);
    }

    @Test
    void layersOfAGraphThatAreNotTrainableKeepTheirWeights() throws IOException {
        ComputationGraph graph =
                KerasModels.loadFunctional(changed("branches.keras", freezing("left")));
        INDArray inputs = input("branches", 3, 4);
        assertThat(output(graph, inputs)).containsExactly(numbers("branches", "outputs"), CLOSE);
        INDArray frozen = graph.getLayer("left").params().dup();
        INDArray learned = graph.getLayer("right").params().dup();
        graph.fit(new DataSet(inputs, Nd4j.zeros(3, 2)));
        assertThat(graph.getLayer("left").params()).isEqualTo(frozen);
        assertThat(graph.getLayer("right").params()).isNotEqualTo(learned);
    }
}
