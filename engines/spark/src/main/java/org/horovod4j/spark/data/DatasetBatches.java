package org.horovod4j.spark.data;

import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.ColumnarToRowTransition;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.horovod4j.ConfigurationException;

import java.util.List;

/// The rows of a `Dataset` as batches, for a training that uses them once: without files, and without
/// an object for each row and value.
///
/// ```java
/// JavaRDD<RowBatch> batches = DatasetBatches.of(dataset.repartition(4), columns, 64);
/// HvdSpark.ranks(spark, 4).run(batches, (comm, own) -> train(comm, own));
/// ```
///
/// Where Spark has the rows as columns, as after it has read Parquet files, whole columns are copied.
public final class DatasetBatches {
    private DatasetBatches() {}

    /// Batches of the partitions of `dataset`. Partitions may have different numbers of rows, and the
    /// last batch of each may be smaller.
    ///
    /// @param batchSize rows of one batch
    /// @throws ConfigurationException if a column is missing or has a type that cannot be trained with
    public static JavaRDD<RowBatch> of(
            Dataset<?> dataset, List<ColumnRequest> columns, int batchSize) {
        if (batchSize < 1) {
            throw new ConfigurationException(
                    "a batch of %d rows: give a batch size of 1 or more.".formatted(batchSize));
        }
        List<SparkColumn> sources = SparkColumn.of(dataset.schema(), columns);
        SparkPlan columnar = columnarPlan(classic(dataset).queryExecution().executedPlan());
        if (columnar.supportsColumnar()) {
            return columnar.executeColumnar()
                    .toJavaRDD()
                    .mapPartitionsWithIndex(
                            (partition, parts) ->
                                    PartitionBatches.ofColumns(
                                            parts, sources, batchSize, partition),
                            true);
        }
        return internalRows(dataset)
                .mapPartitionsWithIndex(
                        (partition, rows) ->
                                PartitionBatches.ofRows(
                                        rows, sources, batchSize, Long.MAX_VALUE, partition),
                        true);
    }

    /// The plan below the steps that make rows of columns.
    private static SparkPlan columnarPlan(SparkPlan plan) {
        SparkPlan current = plan;
        while (current instanceof WholeStageCodegenExec
                || current instanceof InputAdapter
                || current instanceof ColumnarToRowTransition) {
            current = current.children().head();
        }
        return current;
    }

    /// The rows as Spark has them in memory. A row is valid until the next is asked for.
    static JavaRDD<InternalRow> internalRows(Dataset<?> dataset) {
        return classic(dataset).queryExecution().toRdd().toJavaRDD();
    }

    private static org.apache.spark.sql.classic.Dataset<?> classic(Dataset<?> dataset) {
        if (dataset instanceof org.apache.spark.sql.classic.Dataset<?> classic) {
            return classic;
        }
        throw new ConfigurationException(
                "a Dataset of Spark Connect has no partitions here. Use a session of classic Spark.");
    }
}
