package org.horovod4j.spark.ml;

import org.horovod4j.spark.data.Column;
import org.horovod4j.spark.data.StoredData;
import org.jspecify.annotations.Nullable;

import java.io.Serializable;
import java.util.List;

/// What ranks need to know for a fit. Spark serializes it.
///
/// @param weight the column of weights, if any
/// @param runFolder where checkpoints are, if they are wanted
/// @param patience of early stopping; 0 without it
/// @param monitor the metric of early stopping
record FitPlan(
        NetworkFramework framework,
        StoredData data,
        List<String> features,
        List<String> labels,
        @Nullable String weight,
        int batchSize,
        int epochs,
        boolean isShuffled,
        long seed,
        @Nullable String runFolder,
        boolean resumes,
        int patience,
        String monitor,
        boolean isVerbose,
        @Nullable EpochCallback callback)
        implements Serializable {
    boolean hasValidation() {
        return data.validation().rows() > 0;
    }

    /// How many numbers a row has in these columns.
    int width(List<String> names) {
        return data.columns().stream()
                .filter(column -> names.contains(column.name()))
                .mapToInt(Column::length)
                .sum();
    }
}
