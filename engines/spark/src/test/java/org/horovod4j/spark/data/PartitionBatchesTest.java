package org.horovod4j.spark.data;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;

class PartitionBatchesTest {
    private static final int LENGTH = 25; // 100 bytes

    @ParameterizedTest(name = "at most {0} rows and {1} bytes: {2} rows")
    @CsvSource({"4, 9223372036854775807, 4", "1024, 399, 3", "1024, 400, 4", "4, 10, 1"})
    void batchesHaveLimitsOfRowsAndBytes(int maxRows, long maxBytes, int expected) {
        StructType schema =
                new StructType().add("x", DataTypes.createArrayType(DataTypes.FloatType));
        Iterator<InternalRow> rows =
                IntStream.range(0, 10).mapToObj(PartitionBatchesTest::row).iterator();
        PartitionBatches batches =
                PartitionBatches.ofRows(
                        rows,
                        SparkColumn.of(schema, List.of(ColumnRequest.of("x"))),
                        maxRows,
                        maxBytes,
                        0);
        List<Float> read = new ArrayList<>();
        int first = batches.hasNext() ? add(batches.next(), read) : 0;
        while (batches.hasNext()) {
            assertThat(add(batches.next(), read)).isLessThanOrEqualTo(expected);
        }

        assertThat(first).isEqualTo(expected);
        assertThat(read).containsExactly(0f, 1f, 2f, 3f, 4f, 5f, 6f, 7f, 8f, 9f);
    }

    /// All elements are the number of the row.
    private static InternalRow row(int number) {
        float[] values = new float[LENGTH];
        java.util.Arrays.fill(values, number);
        return new GenericInternalRow(new Object[] {new GenericArrayData(values)});
    }

    private static int add(RowBatch batch, List<Float> read) {
        float[] values = batch.floats("x");
        assertThat(values).hasSize(batch.rows() * LENGTH);
        for (int row = 0; row < batch.rows(); row++) {
            read.add(values[row * LENGTH + LENGTH - 1]);
        }
        return batch.rows();
    }
}
