package org.horovod4j.spark.data;

import org.horovod4j.DataType;

import java.util.List;

/// The primitive arrays of columns, and values of other types that go into them.
final class ColumnArrays {
    private ColumnArrays() {}

    /// Arrays for this many rows, one for each column.
    static Object[] allocate(List<Column> columns, int rows) {
        Object[] arrays = new Object[columns.size()];
        for (int i = 0; i < arrays.length; i++) {
            Column column = columns.get(i);
            arrays[i] = allocate(column.type(), elements(column, rows));
        }
        return arrays;
    }

    private static int elements(Column column, int rows) {
        long elements = (long) rows * column.length();
        if (elements > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    "%d rows of %d elements of column '%s' are more than an array can have. Use smaller batches or row groups."
                            .formatted(rows, column.length(), column.name()));
        }
        return (int) elements;
    }

    static Object allocate(DataType type, int elements) {
        return switch (type) {
            case FLOAT32 -> new float[elements];
            case FLOAT64 -> new double[elements];
            case INT64 -> new long[elements];
            case INT32 -> new int[elements];
            case INT16 -> new short[elements];
            case INT8, UINT8, BOOL -> new byte[elements];
            case UINT16, FLOAT16, BFLOAT16 ->
                    throw new IllegalArgumentException(
                            "columns cannot have type %s: ask for another".formatted(type));
        };
    }

    /// Stores a floating-point value. Types of integers take whole numbers of their range only.
    ///
    /// @return whether the column's type has this value
    static boolean set(Object array, DataType type, int index, double value) {
        switch (array) {
            case float[] floats -> floats[index] = (float) value;
            case double[] doubles -> doubles[index] = value;
            default -> {
                return value == Math.rint(value)
                        && Math.abs(value) < 0x1p63
                        && set(array, type, index, (long) value);
            }
        }
        return true;
    }

    /// Stores an integer.
    ///
    /// @return whether the column's type has this value
    static boolean set(Object array, DataType type, int index, long value) {
        switch (array) {
            case float[] floats -> floats[index] = value;
            case double[] doubles -> doubles[index] = value;
            case long[] longs -> longs[index] = value;
            case int[] ints -> {
                ints[index] = (int) value;
                return ints[index] == value;
            }
            case short[] shorts -> {
                shorts[index] = (short) value;
                return shorts[index] == value;
            }
            default -> {
                byte[] bytes = (byte[]) array;
                bytes[index] = (byte) value;
                return switch (type) {
                    case BOOL -> value == 0 || value == 1;
                    case UINT8 -> (bytes[index] & 0xff) == value;
                    default -> bytes[index] == value;
                };
            }
        }
        return true;
    }
}
