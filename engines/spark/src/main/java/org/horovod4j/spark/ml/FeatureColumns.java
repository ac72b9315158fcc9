package org.horovod4j.spark.ml;

import org.apache.spark.ml.linalg.SQLDataTypes;
import org.apache.spark.ml.linalg.Vector;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructType;
import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import scala.collection.Iterator;

import java.util.Arrays;

/// Columns of numbers: checks them, and reads them from rows.
final class FeatureColumns {
    private FeatureColumns() {}

    /// Rejects a column that does not exist, or has no numbers.
    ///
    /// @param role as in "features"
    static void check(StructType schema, String column, String role) {
        if (!Arrays.asList(schema.fieldNames()).contains(column)) {
            throw new ConfigurationException(
                    "the %s column '%s' is not in the data, which have the columns %s"
                            .formatted(role, column, Arrays.toString(schema.fieldNames())));
        }
        DataType type = schema.apply(column).dataType();
        DataType element = type instanceof ArrayType array ? array.elementType() : type;
        boolean isNumber =
                element instanceof BooleanType
                        || (element instanceof NumericType && !(element instanceof DecimalType))
                        || type.equals(SQLDataTypes.VectorType());
        if (!isNumber) {
            throw new ConfigurationException(
                    """
                    the %s column '%s' has type %s, and a network needs numbers, arrays of numbers or vectors
                    Cast it, for example to double, or use a StringIndexer or OneHotEncoder before."""
                            .formatted(role, column, type.catalogString()));
        }
    }

    /// Reads the columns of a row, one after the other.
    ///
    /// @param sized the array to fill; null for the first row, whose number of features is not known
    /// @return that array, or a new one
    static float[] read(Row row, int[] columns, float @Nullable [] sized) {
        float[] target = sized == null ? new float[width(row, columns)] : sized;
        int at = 0;
        for (int column : columns) {
            at = append(row, column, target, at);
        }
        if (at != target.length) {
            throw new IllegalArgumentException(
                    "a row has %d features, and the rows before it have %d"
                            .formatted(at, target.length));
        }
        return target;
    }

    private static int width(Row row, int[] columns) {
        int width = 0;
        for (int column : columns) {
            width +=
                    switch (value(row, column)) {
                        case Vector vector -> vector.size();
                        case scala.collection.Seq<?> numbers -> numbers.size();
                        default -> 1;
                    };
        }
        return width;
    }

    private static Object value(Row row, int column) {
        Object value = row.get(column);
        if (value == null) {
            throw new IllegalArgumentException(
                    "column '%s' is null in row %s: fill or drop such rows before"
                            .formatted(row.schema().fieldNames()[column], row));
        }
        return value;
    }

    private static int append(Row row, int column, float[] target, int start) {
        int at = start;
        switch (value(row, column)) {
            case Vector vector -> {
                double[] values = vector.toArray();
                checkRoom(target, at + values.length);
                for (double each : values) {
                    target[at++] = (float) each;
                }
            }
            case scala.collection.Seq<?> numbers -> {
                checkRoom(target, at + numbers.size());
                for (Iterator<?> each = numbers.iterator(); each.hasNext(); ) {
                    target[at++] = number(row, column, each.next());
                }
            }
            case Object single -> {
                checkRoom(target, at + 1);
                target[at++] = number(row, column, single);
            }
        }
        return at;
    }

    private static void checkRoom(float[] target, int needed) {
        if (needed > target.length) {
            throw new IllegalArgumentException(
                    "a row has %d features or more, and the rows before it have %d"
                            .formatted(needed, target.length));
        }
    }

    private static float number(Row row, int column, @Nullable Object value) {
        return switch (value) {
            case Number number -> number.floatValue();
            case Boolean bit -> bit ? 1 : 0;
            case null, default ->
                    throw new IllegalArgumentException(
                            "column '%s' has %s in row %s, which is not a number"
                                    .formatted(row.schema().fieldNames()[column], value, row));
        };
    }
}
