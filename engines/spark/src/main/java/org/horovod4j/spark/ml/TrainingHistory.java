package org.horovod4j.spark.ml;

import org.horovod4j.ConfigurationException;

import java.io.Serializable;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/// The metrics of each epoch of a training.
///
/// | name                     | is                                                    |
/// |--------------------------|-------------------------------------------------------|
/// | `loss`                   | the mean loss over the rows, during the epoch         |
/// | `val_loss`               | that of the validation rows, at the end of the epoch  |
/// | `accuracy`, `val_accuracy`, … | metrics of the framework, in the same two ways   |
///
/// @param epochs the metrics by name, of one epoch after the other
public record TrainingHistory(List<Map<String, Double>> epochs) implements Serializable {
    private static final long serialVersionUID = 1L;

    /// The history of no epochs.
    public static final TrainingHistory EMPTY = new TrainingHistory(List.of());

    public TrainingHistory {
        epochs = List.copyOf(epochs);
    }

    /// The values of one metric, by epoch.
    public List<Double> metric(String name) {
        return epochs.stream().map(epoch -> value(epoch, name)).toList();
    }

    private static double value(Map<String, Double> epoch, String name) {
        Double value = epoch.get(name);
        if (value == null) {
            throw new ConfigurationException(
                    "there is no metric '%s'; there are %s".formatted(name, epoch.keySet()));
        }
        return value;
    }

    TrainingHistory with(Map<String, Double> epoch) {
        List<Map<String, Double>> more = new ArrayList<>(epochs);
        more.add(new LinkedHashMap<>(epoch));
        return new TrainingHistory(more);
    }

    TrainingHistory first(int count) {
        return new TrainingHistory(epochs.subList(0, Math.min(count, epochs.size())));
    }

    /// A line with `name=value` pairs for each epoch. Names are encoded as in URLs, as they may have
    /// commas.
    String format() {
        return epochs.stream()
                .map(
                        epoch ->
                                epoch.entrySet().stream()
                                                .map(TrainingHistory::formatMetric)
                                                .collect(Collectors.joining(","))
                                        + "\n")
                .collect(Collectors.joining());
    }

    private static String formatMetric(Map.Entry<String, Double> metric) {
        return URLEncoder.encode(metric.getKey(), StandardCharsets.UTF_8) + "=" + metric.getValue();
    }

    static TrainingHistory parse(String text) {
        return new TrainingHistory(text.lines().map(TrainingHistory::parseEpoch).toList());
    }

    private static Map<String, Double> parseEpoch(String line) {
        Map<String, Double> epoch = new LinkedHashMap<>();
        for (String pair : line.split(",", -1)) {
            int equals = pair.lastIndexOf('=');
            if (equals > 0) {
                epoch.put(
                        URLDecoder.decode(pair.substring(0, equals), StandardCharsets.UTF_8),
                        Double.valueOf(pair.substring(equals + 1)));
            }
        }
        return epoch;
    }
}
