package org.horovod4j.dl4j.keras;

import org.deeplearning4j.nn.modelimport.keras.Hdf5Archive;
import org.deeplearning4j.nn.modelimport.keras.exceptions.UnsupportedKerasConfigurationException;
import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/// A file of Keras: an HDF5 file, or since Keras 3 a zip archive with an HDF5 file in it.
///
/// | | `.h5` | `.keras` |
/// |---|---|---|
/// | network   | attribute `model_config`                 | `config.json`                              |
/// | loss      | attribute `training_config`              | `config.json`, `compile_config`            |
/// | weights   | datasets in `model_weights/<layer>`      | `model.weights.h5`, `layers/<class>/vars/<n>` |
/// | version   | attribute `keras_version`                | `metadata.json`                            |
final class KerasFile implements AutoCloseable {
    static final String WEIGHTS = "model_weights";

    private static final byte[] HDF5 = {(byte) 0x89, 'H', 'D', 'F'};
    private static final byte[] ZIP = {'P', 'K', 3, 4};
    private static final String MODEL_CONFIG = "model_config";
    private static final String TRAINING_CONFIG = "training_config";
    private static final String LAYERS = "layers";
    private static final String VARIABLES = "vars";

    private final Path path;
    private final Hdf5Archive archive;
    private final KerasConfig config;
    private final boolean isZip;

    /// The HDF5 file of a zip archive.
    private final @Nullable Path extracted;

    private KerasFile(
            Path path,
            Hdf5Archive archive,
            KerasConfig config,
            boolean isZip,
            @Nullable Path extracted) {
        this.path = path;
        this.archive = archive;
        this.config = config;
        this.isZip = isZip;
        this.extracted = extracted;
    }

    /// @throws ConfigurationException when it is no file of Keras, or has weights only
    static KerasFile open(Path path) throws IOException {
        byte[] start;
        try (InputStream in = Files.newInputStream(path)) {
            start = in.readNBytes(HDF5.length);
        }
        if (Arrays.equals(start, HDF5)) {
            return openHdf5(path);
        }
        if (Arrays.equals(start, ZIP)) {
            return openZip(path);
        }
        throw new ConfigurationException(
                """
                %s is not a file of Keras: it is neither an HDF5 file (.h5) nor a zip archive (.keras)
                Save the network by model.save('network.keras')."""
                        .formatted(path));
    }

    private static KerasFile openHdf5(Path path) {
        Hdf5Archive archive = new Hdf5Archive(path.toString());
        try {
            if (!archive.hasAttribute(MODEL_CONFIG)) {
                throw new ConfigurationException(
                        """
                        %s has weights, but no network
                        Save the network too, by model.save instead of model.save_weights."""
                                .formatted(path));
            }
            String training =
                    archive.hasAttribute(TRAINING_CONFIG)
                            ? archive.readAttributeAsJson(TRAINING_CONFIG)
                            : null;
            String version =
                    archive.hasAttribute("keras_version")
                            ? archive.readAttributeAsFixedLengthString("keras_version", 5)
                            : "1";
            KerasConfig config =
                    KerasConfig.ofHdf5(
                            path, version, archive.readAttributeAsJson(MODEL_CONFIG), training);
            return new KerasFile(path, archive, config, false, null);
        } catch (UnsupportedKerasConfigurationException e) {
            archive.close();
            throw new ConfigurationException(
                    "%s cannot be read as a file of Keras: %s".formatted(path, e.getMessage()), e);
        } catch (RuntimeException e) {
            archive.close();
            throw e;
        }
    }

    private static KerasFile openZip(Path path) throws IOException {
        Path weights = Files.createTempFile("keras", ".h5");
        try (ZipFile zip = new ZipFile(path.toFile())) {
            KerasConfig config =
                    KerasConfig.ofZip(
                            path, text(zip, path, "config.json"), text(zip, path, "metadata.json"));
            try (InputStream in = entry(zip, path, "model.weights.h5")) {
                Files.copy(in, weights, StandardCopyOption.REPLACE_EXISTING);
            }
            return new KerasFile(path, new Hdf5Archive(weights.toString()), config, true, weights);
        } catch (IOException | RuntimeException e) {
            Files.deleteIfExists(weights);
            throw e;
        }
    }

    private static String text(ZipFile zip, Path path, String name) throws IOException {
        try (InputStream in = entry(zip, path, name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static InputStream entry(ZipFile zip, Path path, String name) throws IOException {
        ZipEntry entry = zip.getEntry(name);
        if (entry == null) {
            throw new ConfigurationException(
                    """
                    %s is a zip archive without %s, so it is not a network of Keras 3
                    Save the network by model.save('network.keras')."""
                            .formatted(path, name));
        }
        return zip.getInputStream(entry);
    }

    Path path() {
        return path;
    }

    KerasConfig config() {
        return config;
    }

    /// The weights of Keras 2, which DL4J reads itself.
    Optional<Hdf5Archive> oldWeights() {
        return config.isOfKeras3() ? Optional.empty() : Optional.of(archive);
    }

    /// The weights of Keras 3 by layer and name of the weight.
    ///
    /// @param layers the configurations of the layers, by name
    Map<String, Map<String, INDArray>> weights(Map<String, KerasConfig.LayerConfig> layers)
            throws UnsupportedKerasConfigurationException {
        Map<String, Map<String, INDArray>> weights = new LinkedHashMap<>();
        if (isZip) {
            for (String group : archive.getGroups(LAYERS)) {
                if (!archive.hasAttribute("name", LAYERS, group, VARIABLES)) {
                    throw new ConfigurationException(
                            """
                            %s: the weights in group '%s' have no name of a layer, so they cannot be assigned
                            Save the network as HDF5, by model.save('network.h5')."""
                                    .formatted(path, group));
                }
                String name = archive.readAttributeAsString("name", LAYERS, group, VARIABLES);
                KerasConfig.LayerConfig layer = layers.get(name);
                if (layer != null) {
                    weights.put(name, variables(layer, LAYERS, group));
                }
            }
        } else {
            for (String name : archive.getGroups(WEIGHTS)) {
                KerasConfig.LayerConfig layer = layers.get(name);
                if (layer != null) {
                    Map<String, INDArray> own = new LinkedHashMap<>();
                    collect(own, layer, WEIGHTS, name);
                    weights.put(name, own);
                }
            }
        }
        return weights;
    }

    /// Datasets of a `.h5` file have names; the groups between them and the layer do not matter.
    private void collect(Map<String, INDArray> own, KerasConfig.LayerConfig layer, String... groups)
            throws UnsupportedKerasConfigurationException {
        for (String dataSet : archive.getDataSets(groups)) {
            own.put(
                    layer.oldName(dataSet.replaceFirst(":\\d+$", "")),
                    archive.readDataSet(dataSet, groups));
        }
        for (String group : archive.getGroups(groups)) {
            collect(own, layer, with(groups, group));
        }
    }

    /// Datasets of a `.keras` file have numbers. Those of recurrent layers are in the group of a cell.
    private Map<String, INDArray> variables(KerasConfig.LayerConfig layer, String... groups)
            throws UnsupportedKerasConfigurationException {
        String[] inside =
                archive.getGroups(groups).contains("cell")
                        ? with(with(groups, "cell"), VARIABLES)
                        : with(groups, VARIABLES);
        int count = archive.getDataSets(inside).size();
        Map<String, INDArray> own = new LinkedHashMap<>();
        if (count > 0) {
            List<String> names = layer.weightNames();
            if (names.size() < count) {
                throw new ConfigurationException(
                        """
                        %s: the weights of layer '%s' of class %s cannot be assigned, because Keras has saved them \
                        without names
                        Save the network as HDF5, by model.save('network.h5')."""
                                .formatted(path, layer.name(), layer.className()));
            }
            for (int i = 0; i < count; i++) {
                own.put(names.get(i), archive.readDataSet(String.valueOf(i), inside));
            }
        }
        return own;
    }

    private static String[] with(String[] groups, String last) {
        String[] longer = Arrays.copyOf(groups, groups.length + 1);
        longer[groups.length] = last;
        return longer;
    }

    @Override
    public void close() throws IOException {
        archive.close();
        if (extracted != null) {
            Files.deleteIfExists(extracted);
        }
    }
}
