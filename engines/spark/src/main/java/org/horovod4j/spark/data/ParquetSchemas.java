package org.horovod4j.spark.data;

import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.IntLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.ListLogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.Type;
import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;

import java.util.List;

/// What the types of Parquet mean for a [Column].
final class ParquetSchemas {
    private ParquetSchemas() {}

    /// The type of a column of a file.
    static Type type(MessageType schema, String column, String file) {
        if (!schema.containsField(column)) {
            throw missing(
                    List.of(column), schema.getFields().stream().map(Type::getName).toList(), file);
        }
        return schema.getType(column);
    }

    /// Checks that all columns are there.
    static void check(MessageType schema, List<ColumnRequest> requests, String file) {
        List<String> missing =
                requests.stream()
                        .map(ColumnRequest::name)
                        .filter(name -> !schema.containsField(name))
                        .toList();
        if (!missing.isEmpty()) {
            throw missing(missing, schema.getFields().stream().map(Type::getName).toList(), file);
        }
    }

    static ConfigurationException missing(List<String> names, List<String> found, String where) {
        return new ConfigurationException(
                "%s has no column %s. It has: %s."
                        .formatted(
                                where,
                                String.join(", ", names.stream().map("'%s'"::formatted).toList()),
                                String.join(", ", found)));
    }

    /// A list of numbers in each row.
    static boolean isList(Type type) {
        return !type.isPrimitive()
                && type.getLogicalTypeAnnotation() instanceof ListLogicalTypeAnnotation
                && type.asGroupType().getFieldCount() == 1
                && listElement(type).isPrimitive();
    }

    /// Lists have a repeated group around their elements, or, in old files, repeated elements.
    static Type listElement(Type list) {
        Type repeated = list.asGroupType().getType(0);
        return repeated.isPrimitive() ? repeated : repeated.asGroupType().getType(0);
    }

    /// A vector of Spark ML, as Spark writes it.
    static boolean isMlVector(Type type) {
        if (type.isPrimitive()) {
            return false;
        }
        GroupType group = type.asGroupType();
        return group.getFieldCount() == 4
                && group.containsField("type")
                && group.containsField("size")
                && group.containsField("indices")
                && group.containsField("values")
                && isList(group.getType("indices"))
                && isList(group.getType("values"));
    }

    /// The column that a request for this type gives.
    ///
    /// @param length elements of the first row, if it has vectors
    static Column column(ColumnRequest request, Type type, int length) {
        boolean isVector = isVector(type);
        DataType found =
                isMlVector(type)
                        ? DataType.FLOAT64
                        : elementType(request.name(), isList(type) ? listElement(type) : type);
        if (isBinary(type) && request.type() != null && request.type() != DataType.UINT8) {
            throw new ConfigurationException(
                    "column '%s' is binary in the file, and its bytes cannot be read as %s. Ask for uint8, or write numbers as an array."
                            .formatted(request.name(), request.type()));
        }
        return new Column(
                request.name(),
                request.type() == null ? found : request.type(),
                isVector ? length : 1,
                isVector);
    }

    static boolean isVector(Type type) {
        return isMlVector(type) || isList(type) || isBinary(type);
    }

    private static boolean isBinary(Type type) {
        return type.isPrimitive()
                && switch (type.asPrimitiveType().getPrimitiveTypeName()) {
                    case BINARY, FIXED_LEN_BYTE_ARRAY -> true;
                    case INT32, INT64, INT96, FLOAT, DOUBLE, BOOLEAN -> false;
                };
    }

    private static DataType elementType(String column, Type type) {
        if (!type.isPrimitive()) {
            throw unsupported(column, type.toString());
        }
        return primitiveType(column, type.asPrimitiveType());
    }

    private static DataType primitiveType(String column, PrimitiveType type) {
        LogicalTypeAnnotation logical = type.getLogicalTypeAnnotation();
        if (logical instanceof IntLogicalTypeAnnotation integer && integer.isSigned()) {
            return switch (integer.getBitWidth()) {
                case 8 -> DataType.INT8;
                case 16 -> DataType.INT16;
                case 32 -> DataType.INT32;
                default -> DataType.INT64;
            };
        }
        if (logical != null) {
            throw unsupported(column, type.toString());
        }
        return switch (type.getPrimitiveTypeName()) {
            case INT32 -> DataType.INT32;
            case INT64 -> DataType.INT64;
            case FLOAT -> DataType.FLOAT32;
            case DOUBLE -> DataType.FLOAT64;
            case BOOLEAN -> DataType.BOOL;
            case BINARY, FIXED_LEN_BYTE_ARRAY -> DataType.UINT8;
            case INT96 -> throw unsupported(column, type.toString());
        };
    }

    static ConfigurationException unsupported(String column, String type) {
        return new ConfigurationException(
                """
                column '%s' has type %s, which cannot be trained with. Use booleans, integers, floats, doubles, \
                arrays of these, vectors of Spark ML or binary; convert others, as by StringIndexer or cast."""
                        .formatted(column, type));
    }
}
