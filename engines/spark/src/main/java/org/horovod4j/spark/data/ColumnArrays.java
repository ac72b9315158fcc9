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

    // These run for each value. A chain of instanceof is compiled to less than a switch over types.

    /// Stores a floating-point value. Types of integers take whole numbers of their range only.
    ///
    /// @return whether the column's type has this value
    static boolean set(Object array, DataType type, int index, double value) {
        if (array instanceof float[] floats) {
            floats[index] = (float) value;
            return true;
        }
        if (array instanceof double[] doubles) {
            doubles[index] = value;
            return true;
        }
        return value == Math.rint(value)
                && Math.abs(value) < 0x1p63
                && set(array, type, index, (long) value);
    }

    /// Stores an integer.
    ///
    /// @return whether the column's type has this value
    static boolean set(Object array, DataType type, int index, long value) {
        if (array instanceof long[] longs) {
            longs[index] = value;
            return true;
        }
        if (array instanceof float[] floats) {
            floats[index] = value;
            return true;
        }
        if (array instanceof double[] doubles) {
            doubles[index] = value;
            return true;
        }
        if (array instanceof int[] ints) {
            ints[index] = (int) value;
            return ints[index] == value;
        }
        if (array instanceof short[] shorts) {
            shorts[index] = (short) value;
            return shorts[index] == value;
        }
        byte[] bytes = (byte[]) array;
        bytes[index] = (byte) value;
        return switch (type) {
            case BOOL -> value == 0 || value == 1;
            case UINT8 -> (bytes[index] & 0xff) == value;
            default -> bytes[index] == value;
        };
    }

    /// Copies an element between arrays of one type.
    static void copy(Object from, int fromIndex, Object to, int toIndex) {
        if (to instanceof float[] floats) {
            floats[toIndex] = ((float[]) from)[fromIndex];
        } else if (to instanceof double[] doubles) {
            doubles[toIndex] = ((double[]) from)[fromIndex];
        } else if (to instanceof long[] longs) {
            longs[toIndex] = ((long[]) from)[fromIndex];
        } else if (to instanceof int[] ints) {
            ints[toIndex] = ((int[]) from)[fromIndex];
        } else if (to instanceof short[] shorts) {
            shorts[toIndex] = ((short[]) from)[fromIndex];
        } else {
            ((byte[]) to)[toIndex] = ((byte[]) from)[fromIndex];
        }
    }
}
