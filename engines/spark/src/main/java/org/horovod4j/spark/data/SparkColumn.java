package org.horovod4j.spark.data;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.horovod4j.DataType;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// A column of Spark's rows, and how its values get into an array.
///
/// @param kind of the values
/// @param found the type of the elements
/// @param ordinal of the column in the rows
record SparkColumn(ColumnRequest request, Kind kind, DataType found, int ordinal)
        implements Serializable {
    private static final String ML_VECTOR = "org.apache.spark.ml.linalg.VectorUDT";
    private static final int VECTOR_FIELDS = 4; // type, size, indices, values
    private static final int SPARSE = 0;

    enum Kind {
        SCALAR,
        ARRAY,
        ML_VECTOR,
        BINARY
    }

    /// The columns that requests give.
    ///
    /// @param schema of the rows
    static List<SparkColumn> of(StructType schema, List<ColumnRequest> requests) {
        List<String> names = Arrays.asList(schema.fieldNames());
        List<String> missing =
                requests.stream()
                        .map(ColumnRequest::name)
                        .filter(name -> !names.contains(name))
                        .toList();
        if (!missing.isEmpty()) {
            throw ParquetSchemas.missing(missing, names, "the Dataset");
        }
        List<SparkColumn> columns = new ArrayList<>();
        for (ColumnRequest request : requests) {
            int ordinal = names.indexOf(request.name());
            columns.add(of(request, schema.fields()[ordinal].dataType(), ordinal));
        }
        return List.copyOf(columns);
    }

    /// The same column under another name.
    SparkColumn renamed(String name) {
        return new SparkColumn(new ColumnRequest(name, request.type()), kind, found, ordinal);
    }

    private static SparkColumn of(
            ColumnRequest request, org.apache.spark.sql.types.DataType type, int ordinal) {
        return switch (type) {
            case UserDefinedType<?> user when user.getClass().getName().equals(ML_VECTOR) ->
                    new SparkColumn(request, Kind.ML_VECTOR, DataType.FLOAT64, ordinal);
            case ArrayType array ->
                    new SparkColumn(
                            request, Kind.ARRAY, scalar(request, array.elementType()), ordinal);
            case BinaryType _ -> new SparkColumn(request, Kind.BINARY, DataType.UINT8, ordinal);
            default -> new SparkColumn(request, Kind.SCALAR, scalar(request, type), ordinal);
        };
    }

    private static DataType scalar(
            ColumnRequest request, org.apache.spark.sql.types.DataType type) {
        return switch (type) {
            case BooleanType _ -> DataType.BOOL;
            case ByteType _ -> DataType.INT8;
            case ShortType _ -> DataType.INT16;
            case IntegerType _ -> DataType.INT32;
            case LongType _ -> DataType.INT64;
            case FloatType _ -> DataType.FLOAT32;
            case DoubleType _ -> DataType.FLOAT64;
            default -> throw ParquetSchemas.unsupported(request.name(), type.catalogString());
        };
    }

    /// The column with the length that it has in this row.
    ///
    /// @param place of the row, for messages
    Column column(InternalRow row, RowDescription place) {
        boolean isVector = kind != Kind.SCALAR;
        Column column =
                new Column(
                        request.name(),
                        request.type() == null ? found : request.type(),
                        1,
                        isVector);
        if (row.isNullAt(ordinal)) {
            throw BadRow.of(column, "null", place.of(row));
        }
        int length = length(row);
        if (length == 0) {
            throw BadRow.of(column, "no elements", place.of(row));
        }
        return new Column(column.name(), column.type(), length, isVector);
    }

    private int length(InternalRow row) {
        return switch (kind) {
            case SCALAR -> 1;
            case ARRAY -> row.getArray(ordinal).numElements();
            case BINARY -> row.getBinary(ordinal).length;
            case ML_VECTOR -> {
                InternalRow vector = row.getStruct(ordinal, VECTOR_FIELDS);
                yield vector.getByte(0) == SPARSE
                        ? vector.getInt(1)
                        : vector.getArray(3).numElements();
            }
        };
    }

    /// How a row is called in messages.
    interface RowDescription {
        String of(InternalRow row);
    }

    /// Copies the values of a row.
    ///
    /// @param index of the first element in `array`
    void copy(InternalRow row, Column column, Object array, int index, RowDescription place) {
        if (row.isNullAt(ordinal)) {
            throw BadRow.of(column, "null", place.of(row));
        }
        if (kind == Kind.SCALAR) {
            if (!copyScalar(row, column, array, index)) {
                throw BadRow.of(column, text(row), place.of(row));
            }
            return;
        }
        int length = length(row);
        if (length != column.length()) {
            throw BadRow.of(
                    column,
                    "%d elements, but %d in an earlier row".formatted(length, column.length()),
                    place.of(row));
        }
        switch (kind) {
            case ARRAY -> copyArray(row, row.getArray(ordinal), column, array, index, place);
            case BINARY -> copyBytes(row, column, array, index, place);
            case ML_VECTOR -> copyVector(row, column, array, index, place);
            case SCALAR -> throw new IllegalStateException("not a vector");
        }
    }

    private boolean copyScalar(InternalRow row, Column column, Object array, int index) {
        DataType type = column.type();
        return switch (found) {
            case BOOL -> ColumnArrays.set(array, type, index, row.getBoolean(ordinal) ? 1L : 0L);
            case INT8 -> ColumnArrays.set(array, type, index, (long) row.getByte(ordinal));
            case INT16 -> ColumnArrays.set(array, type, index, (long) row.getShort(ordinal));
            case INT32 -> ColumnArrays.set(array, type, index, (long) row.getInt(ordinal));
            case INT64 -> ColumnArrays.set(array, type, index, row.getLong(ordinal));
            case FLOAT32 -> ColumnArrays.set(array, type, index, (double) row.getFloat(ordinal));
            default -> ColumnArrays.set(array, type, index, row.getDouble(ordinal));
        };
    }

    private String text(InternalRow row) {
        return switch (found) {
            case BOOL -> Boolean.toString(row.getBoolean(ordinal));
            case INT8 -> Byte.toString(row.getByte(ordinal));
            case INT16 -> Short.toString(row.getShort(ordinal));
            case INT32 -> Integer.toString(row.getInt(ordinal));
            case INT64 -> Long.toString(row.getLong(ordinal));
            case FLOAT32 -> Float.toString(row.getFloat(ordinal));
            default -> Double.toString(row.getDouble(ordinal));
        };
    }

    /// The value of this column in a row, for a message.
    String valueText(InternalRow row) {
        if (row.isNullAt(ordinal)) {
            return "null";
        }
        return kind == Kind.SCALAR ? text(row) : "%d elements".formatted(length(row));
    }

    private void copyArray(
            InternalRow row,
            ArrayData from,
            Column column,
            Object array,
            int index,
            RowDescription place) {
        int length = column.length();
        for (int i = 0; i < length; i++) {
            if (from.isNullAt(i)) {
                throw BadRow.of(column, "null in element " + i, place.of(row));
            }
        }
        if (column.type() == found && found != DataType.BOOL) {
            System.arraycopy(elements(from), 0, array, index, length);
            return;
        }
        for (int i = 0; i < length; i++) {
            DataType type = column.type();
            int at = index + i;
            boolean isExact =
                    switch (found) {
                        case BOOL ->
                                ColumnArrays.set(array, type, at, from.getBoolean(i) ? 1L : 0L);
                        case INT8 -> ColumnArrays.set(array, type, at, (long) from.getByte(i));
                        case INT16 -> ColumnArrays.set(array, type, at, (long) from.getShort(i));
                        case INT32 -> ColumnArrays.set(array, type, at, (long) from.getInt(i));
                        case INT64 -> ColumnArrays.set(array, type, at, from.getLong(i));
                        case FLOAT32 ->
                                ColumnArrays.set(array, type, at, (double) from.getFloat(i));
                        default -> ColumnArrays.set(array, type, at, from.getDouble(i));
                    };
            if (!isExact) {
                throw BadRow.of(
                        column, "a value that is no " + type + " in element " + i, place.of(row));
            }
        }
    }

    private Object elements(ArrayData from) {
        return switch (found) {
            case INT8 -> from.toByteArray();
            case INT16 -> from.toShortArray();
            case INT32 -> from.toIntArray();
            case INT64 -> from.toLongArray();
            case FLOAT32 -> from.toFloatArray();
            default -> from.toDoubleArray();
        };
    }

    private void copyBytes(
            InternalRow row, Column column, Object array, int index, RowDescription place) {
        byte[] bytes = row.getBinary(ordinal);
        if (column.type() == DataType.UINT8) {
            System.arraycopy(bytes, 0, array, index, bytes.length);
            return;
        }
        for (int i = 0; i < bytes.length; i++) {
            if (!ColumnArrays.set(array, column.type(), index + i, (long) (bytes[i] & 0xff))) {
                throw BadRow.of(column, Integer.toString(bytes[i] & 0xff), place.of(row));
            }
        }
    }

    /// A dense vector has all its values, a sparse one those that are not zero.
    private void copyVector(
            InternalRow row, Column column, Object array, int index, RowDescription place) {
        InternalRow vector = row.getStruct(ordinal, VECTOR_FIELDS);
        boolean isSparse = vector.getByte(0) == SPARSE;
        double[] values = vector.getArray(3).toDoubleArray();
        int[] indices = isSparse ? vector.getArray(2).toIntArray() : new int[0];
        for (int i = 0; i < values.length; i++) {
            int at = index + (isSparse ? indices[i] : i);
            if (!ColumnArrays.set(array, column.type(), at, values[i])) {
                throw BadRow.of(column, Double.toString(values[i]), place.of(row));
            }
        }
    }

    /// Whether [#copyAll] can copy the values.
    boolean canCopyAll(ColumnVector vector, Column column) {
        return kind == Kind.SCALAR
                && column.type() == found
                && found != DataType.BOOL
                && !vector.hasNull();
    }

    /// Copies many values of a column at once.
    void copyAll(ColumnVector vector, int from, int count, Object array, int index) {
        Object values =
                switch (found) {
                    case INT8 -> vector.getBytes(from, count);
                    case INT16 -> vector.getShorts(from, count);
                    case INT32 -> vector.getInts(from, count);
                    case INT64 -> vector.getLongs(from, count);
                    case FLOAT32 -> vector.getFloats(from, count);
                    default -> vector.getDoubles(from, count);
                };
        System.arraycopy(values, 0, array, index, count);
    }
}
