package org.horovod4j.spark.ml;

import org.apache.spark.ml.linalg.SQLDataTypes;
import org.apache.spark.ml.param.IntParam;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamValidators;
import org.apache.spark.ml.param.Params;
import org.apache.spark.ml.param.StringArrayParam;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.horovod4j.ConfigurationException;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;

/// The parameters that estimators and models have in common. Models take the values of their
/// estimators by name.
final class ColumnParams implements Serializable {
    private static final long serialVersionUID = 1L;

    final StringArrayParam features;
    final Param<String> prediction;
    final Param<String> rawPrediction;
    final IntParam batchSize;

    ColumnParams(Params parent) {
        features =
                new StringArrayParam(
                        parent,
                        "featuresCols",
                        "the columns of features: numbers, arrays or vectors, side by side");
        prediction =
                new Param<>(
                        parent,
                        "predictionCol",
                        "the new column with the output, or the index of the largest; empty for none");
        rawPrediction =
                new Param<>(
                        parent,
                        "rawPredictionCol",
                        "the new column with all outputs, as a vector; empty for none");
        batchSize =
                new IntParam(
                        parent,
                        "batchSize",
                        "the rows of one step on one rank, or of one prediction",
                        ParamValidators.gtEq(1));
    }

    void setDefaults(Params parent) {
        parent.setDefault(features, new String[] {"features"});
        parent.setDefault(prediction, "prediction");
        parent.setDefault(rawPrediction, "rawPrediction");
        parent.setDefault(batchSize, 32);
    }

    List<String> features(Params parent) {
        List<String> names = List.of(parent.getOrDefault(features));
        if (names.isEmpty()) {
            throw new ConfigurationException("there are no features columns: name one or more");
        }
        return names;
    }

    /// The columns of a data set with predictions.
    StructType withOutputs(Params parent, StructType schema) {
        StructType all = schema;
        String raw = parent.getOrDefault(rawPrediction);
        if (!raw.isEmpty()) {
            checkNew(all, raw);
            all = all.add(raw, SQLDataTypes.VectorType(), false);
        }
        String single = parent.getOrDefault(prediction);
        if (!single.isEmpty()) {
            checkNew(all, single);
            all = all.add(single, DataTypes.DoubleType, false);
        }
        return all;
    }

    private static void checkNew(StructType schema, String column) {
        if (Arrays.asList(schema.fieldNames()).contains(column)) {
            throw new ConfigurationException(
                    "the data have a column '%s' already: choose another name for predictions"
                            .formatted(column));
        }
    }
}
