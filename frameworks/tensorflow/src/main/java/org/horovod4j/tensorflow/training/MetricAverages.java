package org.horovod4j.tensorflow.training;

import org.horovod4j.Communicator;
import org.horovod4j.training.MetricTotals;
import org.tensorflow.Operand;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/// Averages of scalars of the graph over steps and ranks.
final class MetricAverages {
    private static final String SAMPLES = "samples";
    private static final String METRIC = "metric/";

    private final Map<String, Operand<?>> metrics = new LinkedHashMap<>();
    private MetricTotals totals = new MetricTotals();

    void add(String name, Operand<?> metric) {
        if (metrics.putIfAbsent(name, metric) != null) {
            throw new IllegalArgumentException("there are two metrics '%s'".formatted(name));
        }
    }

    List<Operand<?>> outputs() {
        return List.copyOf(metrics.values());
    }

    /// Adds the values of a batch, which are means over its samples.
    ///
    /// @param weight the number of samples, or 1 if all batches count alike
    void addBatch(double weight, ToDoubleFunction<Operand<?>> values) {
        totals.add(SAMPLES, weight);
        metrics.forEach(
                (name, metric) -> totals.add(METRIC + name, weight * values.applyAsDouble(metric)));
    }

    /// The averages of this rank since the last call of [#overRanks].
    Map<String, Double> ofThisRank() {
        return averages();
    }

    /// The averages of all ranks since the last call. All ranks call this.
    Map<String, Double> overRanks(Communicator communicator) {
        addBatch(0, _ -> 0); // a rank without batches has the same names
        totals.sumOverRanks(communicator);
        Map<String, Double> averages = averages();
        totals = new MetricTotals();
        return averages;
    }

    private Map<String, Double> averages() {
        Map<String, Double> averages = new LinkedHashMap<>();
        metrics.keySet().forEach(name -> averages.put(name, totals.ratio(METRIC + name, SAMPLES)));
        return averages;
    }
}
