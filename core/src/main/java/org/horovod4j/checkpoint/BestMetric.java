package org.horovod4j.checkpoint;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.SpellingSuggestion;

import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;

/// The best value of a metric so far.
public final class BestMetric {
    private final String name;
    private final Mode mode;
    private OptionalDouble best = OptionalDouble.empty();

    /// Which values of a metric are better.
    public enum Mode {
        /// Larger values if the name of the metric contains `acc`, else smaller ones.
        AUTO,
        MIN,
        MAX
    }

    public BestMetric(String name, Mode mode) {
        this.name = name;
        this.mode = mode;
    }

    public OptionalDouble best() {
        return best;
    }

    public void setBest(OptionalDouble value) {
        best = value;
    }

    /// Rejects a metric that the training will not have, before it costs an epoch.
    ///
    /// @param known the names of all metrics
    /// @throws ConfigurationException when the metric is not among them
    public void check(Collection<String> known) {
        if (!known.contains(name)) {
            throw new ConfigurationException(
                    "there is no metric '%s' to choose the best model by; there are %s.%s"
                            .formatted(
                                    name,
                                    known.stream().sorted().toList(),
                                    SpellingSuggestion.question(name, known, 0)));
        }
    }

    /// Compares the metric with the best value so far, and keeps it if it is better. NaN is not.
    ///
    /// @throws ConfigurationException when the metric is not among `metrics`
    public boolean updateIfBetter(Map<String, ? extends Number> metrics) {
        Number metric = metrics.get(name);
        if (metric == null) {
            check(metrics.keySet());
            throw new IllegalArgumentException("metric '%s' is null".formatted(name));
        }
        double value = metric.doubleValue();
        if (Double.isNaN(value) || (best.isPresent() && !isBetter(value, best.getAsDouble()))) {
            return false;
        }
        best = OptionalDouble.of(value);
        return true;
    }

    private boolean isBetter(double value, double than) {
        boolean larger =
                switch (mode) {
                    case MIN -> false;
                    case MAX -> true;
                    case AUTO -> name.toLowerCase(Locale.ROOT).contains("acc");
                };
        return larger ? value > than : value < than;
    }
}
