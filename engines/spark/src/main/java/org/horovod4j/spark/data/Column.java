package org.horovod4j.spark.data;

import org.horovod4j.DataType;

import java.io.Serializable;

/// A column of training data: one value, or a vector of fixed length, in each row.
///
/// | Spark                        | type                 | values in a [RowBatch]      |
/// |------------------------------|----------------------|--------------------------|
/// | boolean                      | `BOOL`               | `byte[]`, 0 or 1         |
/// | byte, short, int, long       | `INT8` to `INT64`    | `byte[]` to `long[]`     |
/// | float, double                | `FLOAT32`, `FLOAT64` | `float[]`, `double[]`    |
/// | array of one of these        | that of the elements | one row after another    |
/// | ML vector, dense or sparse   | `FLOAT64`            | `double[]`, with zeros   |
/// | binary                       | `UINT8`              | `byte[]`                 |
///
/// @param type of the elements
/// @param length elements in each row; 1 for a column of single values
/// @param isVector whether a row has a vector or an array, also one of length 1
public record Column(String name, DataType type, int length, boolean isVector)
        implements Serializable {
    /// Bytes of one row in memory.
    public int byteSize() {
        return length * type.byteSize();
    }

    /// The shape of this column in a batch: `[rows]`, or `[rows, length]` for vectors.
    public long[] shape(int rows) {
        return isVector ? new long[] {rows, length} : new long[] {rows};
    }
}
