package org.horovod4j.spark.data;

import java.io.Serializable;
import java.util.List;

/// Rows of training data: one primitive array for each column, row after row.
///
/// The arrays are new for each batch, and belong to the code that gets it.
public final class RowBatch implements Serializable {
    private static final long serialVersionUID = 1L;

    @SuppressWarnings("serial") // the lists of the JDK are serializable
    private final List<Column> columns;

    @SuppressWarnings("serial") // they are arrays of primitive types
    private final Object[] arrays;

    private final int rows;

    RowBatch(List<Column> columns, Object[] arrays, int rows) {
        this.columns = columns;
        this.arrays = arrays;
        this.rows = rows;
    }

    /// How many rows.
    public int rows() {
        return rows;
    }

    /// The columns, in the order of the request.
    public List<Column> columns() {
        return columns;
    }

    /// The array of a column: of the type that [Column] lists, with `rows() * length` elements.
    ///
    /// @throws IllegalArgumentException if the batch has no such column
    public Object values(String column) {
        return arrays[index(column)];
    }

    /// The array of the column with this number.
    Object values(int column) {
        return arrays[column];
    }

    /// The values of a `FLOAT32` column.
    ///
    /// @throws IllegalArgumentException if there is no such column, or its type is another
    public float[] floats(String column) {
        return typed(column, float[].class);
    }

    /// The values of a `FLOAT64` column.
    ///
    /// @throws IllegalArgumentException if there is no such column, or its type is another
    public double[] doubles(String column) {
        return typed(column, double[].class);
    }

    /// The values of an `INT32` column.
    ///
    /// @throws IllegalArgumentException if there is no such column, or its type is another
    public int[] ints(String column) {
        return typed(column, int[].class);
    }

    /// The values of an `INT64` column.
    ///
    /// @throws IllegalArgumentException if there is no such column, or its type is another
    public long[] longs(String column) {
        return typed(column, long[].class);
    }

    /// The values of an `INT16` column.
    ///
    /// @throws IllegalArgumentException if there is no such column, or its type is another
    public short[] shorts(String column) {
        return typed(column, short[].class);
    }

    /// The values of an `INT8`, `UINT8` or `BOOL` column.
    ///
    /// @throws IllegalArgumentException if there is no such column, or its type is another
    public byte[] bytes(String column) {
        return typed(column, byte[].class);
    }

    /// The shape of a column's array: `[rows]`, or `[rows, length]` for vectors.
    ///
    /// @throws IllegalArgumentException if the batch has no such column
    public long[] shape(String column) {
        return columns.get(index(column)).shape(rows);
    }

    private <A> A typed(String column, Class<A> type) {
        int index = index(column);
        if (!type.isInstance(arrays[index])) {
            throw new IllegalArgumentException(
                    "column '%s' has type %s, and not %s. Ask for another type by ColumnRequest.of(name, type)."
                            .formatted(
                                    column,
                                    columns.get(index).type(),
                                    type.componentType().getName()));
        }
        return type.cast(arrays[index]);
    }

    private int index(String column) {
        for (int i = 0; i < columns.size(); i++) {
            if (columns.get(i).name().equals(column)) {
                return i;
            }
        }
        throw new IllegalArgumentException(
                "the batch has no column '%s'. It has: %s."
                        .formatted(
                                column,
                                String.join(", ", columns.stream().map(Column::name).toList())));
    }
}
