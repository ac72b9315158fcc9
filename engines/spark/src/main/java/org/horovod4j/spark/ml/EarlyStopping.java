package org.horovod4j.spark.ml;

import org.horovod4j.checkpoint.BestMetric;

import java.util.Map;

/// Ends a training when a metric has not become better for some epochs. The metrics are the same on
/// all ranks, so all ranks decide the same.
final class EarlyStopping {
    private final BestMetric metric;
    private final int patience;
    private int epochsSinceBest;

    /// @param metricName smaller is better, unless the name contains `acc`
    /// @param patience the number of epochs without a better value after which training ends
    EarlyStopping(String metricName, int patience) {
        this.metric = new BestMetric(metricName, BestMetric.Mode.AUTO);
        this.patience = patience;
    }

    /// Adds an epoch.
    ///
    /// @return whether it is the best so far
    /// @throws org.horovod4j.ConfigurationException when the metric is not among those of the epoch
    boolean add(Map<String, Double> epoch) {
        boolean isBest = metric.updateIfBetter(epoch);
        epochsSinceBest = isBest ? 0 : epochsSinceBest + 1;
        return isBest;
    }

    boolean shouldStop() {
        return epochsSinceBest >= patience;
    }
}
