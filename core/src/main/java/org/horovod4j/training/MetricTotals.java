package org.horovod4j.training;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;

import java.util.SortedMap;
import java.util.TreeMap;

/// Totals from which metrics of all ranks are computed, such as the number of correct predictions
/// and the number of samples.
///
/// Each rank adds to its totals during an epoch. [#sumOverRanks] then replaces each total by the
/// sum over all ranks. A ratio of two such sums gives each sample the same weight, however the
/// samples were divided among ranks; an average of the ranks' averages would not.
///
/// ```java
/// MetricTotals totals = new MetricTotals();
/// totals.add("correct", correct);
/// totals.add("samples", samples);
/// totals.sumOverRanks(Hvd.communicator());
/// double accuracy = totals.ratio("correct", "samples");
/// ```
public final class MetricTotals {
    /// Sorted, so that all ranks have the same order.
    private final SortedMap<String, Double> totals = new TreeMap<>();

    /// Without totals.
    public MetricTotals() {}

    /// Adds to a total, which is 0 at first. All ranks add to the same names, at least a 0.
    public void add(String name, double value) {
        totals.merge(name, value, Double::sum);
    }

    /// A total.
    public double get(String name) {
        Double total = totals.get(name);
        if (total == null) {
            throw new IllegalArgumentException(
                    "there is no total '%s'; there are %s".formatted(name, totals.keySet()));
        }
        return total;
    }

    /// One total divided by another.
    public double ratio(String numerator, String denominator) {
        return get(numerator) / get(denominator);
    }

    /// Replaces each total by its sum over all ranks, with one allreduce. All ranks call this.
    ///
    /// @throws org.horovod4j.MismatchException when ranks have different numbers of totals
    public void sumOverRanks(Communicator communicator) {
        double[] values = totals.values().stream().mapToDouble(Double::doubleValue).toArray();
        communicator.allreduce("metrics", values, ReduceOp.SUM);
        int next = 0;
        for (var total : totals.entrySet()) {
            total.setValue(values[next++]);
        }
    }
}
