package org.horovod4j.spark.data;

import org.apache.parquet.column.ColumnReader;
import org.apache.parquet.column.impl.ColumnReadStoreImpl;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;
import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.spark.data.RowGroupFiles.RowPlace;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/// A column of a row group, as it is decoded from its pages.
abstract sealed class ParquetColumn {
    final Column column;
    final RowPlace place;

    private ParquetColumn(Column column, RowPlace place) {
        this.column = column;
        this.place = place;
    }

    static ParquetColumn of(
            Column column, MessageType schema, ColumnReadStoreImpl store, RowPlace place) {
        Type type = schema.getType(column.name());
        if (ParquetSchemas.isVector(type) != column.isVector()) {
            throw ParquetSchemas.unsupported(column.name(), type + " in " + place.file());
        }
        if (ParquetSchemas.isMlVector(type)) {
            return new MlVectors(column, schema, store, place);
        }
        if (ParquetSchemas.isList(type)) {
            return new Lists(column, schema, store, place);
        }
        return column.isVector()
                ? new Bytes(column, new Leaf(schema, store, column.name()), place)
                : new Scalars(column, new Leaf(schema, store, column.name()), place);
    }

    /// Reads the rows `from` to `to - 1` into `array`, from its start.
    final void read(Object array, int from, int to) {
        for (int row = 0; row < from; row++) {
            skip();
        }
        for (int row = from; row < to; row++) {
            readRow(array, (row - from) * column.length(), row);
        }
    }

    /// Reads a row into `array` from `index`.
    abstract void readRow(Object array, int index, int row);

    abstract void skip();

    /// How many elements the first row has. Nothing can be read afterwards.
    abstract int firstLength();

    final ConfigurationException nullValue(int row) {
        return bad(row, "null");
    }

    final ConfigurationException wrongLength(int row, int length) {
        return bad(
                row,
                "%d elements, but %d in the first row of the data"
                        .formatted(length, column.length()));
    }

    final ConfigurationException bad(int row, String what) {
        return BadRow.of(column, what, place.row(row));
    }

    /// The values of one primitive type in the schema, with the levels that tell where rows begin and
    /// what is null.
    private static final class Leaf {
        final ColumnReader reader;
        final PrimitiveTypeName kind;
        final int maxDefinition;

        Leaf(MessageType schema, ColumnReadStoreImpl store, String... path) {
            var descriptor = schema.getColumnDescription(path);
            this.reader = store.getColumnReader(descriptor);
            this.kind = descriptor.getPrimitiveType().getPrimitiveTypeName();
            this.maxDefinition = descriptor.getMaxDefinitionLevel();
        }

        boolean isNull() {
            return reader.getCurrentDefinitionLevel() < maxDefinition;
        }

        /// Goes to the next value. The reader needs to know if this one was not used.
        void consume() {
            if (!isNull()) {
                reader.skip(); // does nothing after the value was read
            }
            reader.consume();
        }

        /// Whether the current value is in the same row as the one before; false after the last one.
        boolean isSameRow() {
            return reader.getCurrentRepetitionLevel() > 0;
        }

        /// Copies the current value.
        ///
        /// @return whether the type of the array has it
        boolean copy(Object array, DataType type, int index) {
            return switch (kind) {
                case FLOAT -> ColumnArrays.set(array, type, index, (double) reader.getFloat());
                case DOUBLE -> ColumnArrays.set(array, type, index, reader.getDouble());
                case INT64 -> ColumnArrays.set(array, type, index, reader.getLong());
                case BOOLEAN -> ColumnArrays.set(array, type, index, reader.getBoolean() ? 1L : 0L);
                default -> ColumnArrays.set(array, type, index, (long) reader.getInteger());
            };
        }

        /// The current value, for a message.
        String text() {
            return switch (kind) {
                case FLOAT -> Float.toString(reader.getFloat());
                case DOUBLE -> Double.toString(reader.getDouble());
                case INT64 -> Long.toString(reader.getLong());
                case BOOLEAN -> Boolean.toString(reader.getBoolean());
                default -> Integer.toString(reader.getInteger());
            };
        }
    }

    /// One value in each row.
    private static final class Scalars extends ParquetColumn {
        private final Leaf leaf;

        Scalars(Column column, Leaf leaf, RowPlace place) {
            super(column, place);
            this.leaf = leaf;
        }

        @Override
        void readRow(Object array, int index, int row) {
            if (leaf.isNull()) {
                throw nullValue(row);
            }
            if (!leaf.copy(array, column.type(), index)) {
                throw bad(row, leaf.text());
            }
            leaf.consume();
        }

        @Override
        void skip() {
            leaf.consume();
        }

        @Override
        int firstLength() {
            return 1;
        }
    }

    /// A sequence of bytes in each row: bytes of the user, or elements as a [PartWriter] packs them.
    private static final class Bytes extends ParquetColumn {
        private final Leaf leaf;

        Bytes(Column column, Leaf leaf, RowPlace place) {
            super(column, place);
            this.leaf = leaf;
        }

        @Override
        void readRow(Object array, int index, int row) {
            if (leaf.isNull()) {
                throw nullValue(row);
            }
            ByteBuffer bytes =
                    leaf.reader.getBinary().toByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
            if (bytes.remaining() != column.byteSize()) {
                throw wrongLength(row, bytes.remaining() / column.type().byteSize());
            }
            int length = column.length();
            switch (array) {
                case float[] floats -> bytes.asFloatBuffer().get(floats, index, length);
                case double[] doubles -> bytes.asDoubleBuffer().get(doubles, index, length);
                case long[] longs -> bytes.asLongBuffer().get(longs, index, length);
                case int[] ints -> bytes.asIntBuffer().get(ints, index, length);
                case short[] shorts -> bytes.asShortBuffer().get(shorts, index, length);
                default -> bytes.get((byte[]) array, index, length);
            }
            leaf.consume();
        }

        @Override
        void skip() {
            leaf.consume();
        }

        @Override
        int firstLength() {
            if (leaf.isNull()) {
                throw nullValue(0);
            }
            return leaf.reader.getBinary().length();
        }
    }

    /// The elements of lists.
    private static final class ListLeaf {
        private final Leaf leaf;
        private final int elementDefinition;

        ListLeaf(MessageType schema, ColumnReadStoreImpl store, String... path) {
            List<String> names = new ArrayList<>(List.of(path));
            Type list = schema.getType(path);
            Type repeated = list.asGroupType().getType(0);
            names.add(repeated.getName());
            this.elementDefinition = schema.getMaxDefinitionLevel(names.toArray(String[]::new));
            if (!repeated.isPrimitive()) {
                names.add(repeated.asGroupType().getType(0).getName());
            }
            this.leaf = new Leaf(schema, store, names.toArray(String[]::new));
        }

        /// Copies the list of a row. Elements after the first `limit` are counted, and not copied.
        ///
        /// @return how many elements there are; 0 if the list is null
        int read(ParquetColumn owner, Object array, DataType type, int index, int limit, int row) {
            int count = 0;
            do {
                if (leaf.reader.getCurrentDefinitionLevel() >= elementDefinition) {
                    if (leaf.isNull()) {
                        throw owner.bad(row, "null in element " + count);
                    }
                    if (count < limit && !leaf.copy(array, type, index + count)) {
                        throw owner.bad(row, leaf.text());
                    }
                    count++;
                }
                leaf.consume();
            } while (leaf.isSameRow());
            return count;
        }

        /// Whether the list of the current row is null or empty.
        boolean isEmpty() {
            return leaf.reader.getCurrentDefinitionLevel() < elementDefinition;
        }

        void skip() {
            do {
                leaf.consume();
            } while (leaf.isSameRow());
        }
    }

    /// A list in each row.
    private static final class Lists extends ParquetColumn {
        private final ListLeaf leaf;

        Lists(Column column, MessageType schema, ColumnReadStoreImpl store, RowPlace place) {
            super(column, place);
            this.leaf = new ListLeaf(schema, store, column.name());
        }

        @Override
        void readRow(Object array, int index, int row) {
            if (leaf.isEmpty()) {
                throw bad(row, "null, or an empty array");
            }
            int length = leaf.read(this, array, column.type(), index, column.length(), row);
            if (length != column.length()) {
                throw wrongLength(row, length);
            }
        }

        @Override
        void skip() {
            leaf.skip();
        }

        @Override
        int firstLength() {
            return leaf.read(this, new double[0], DataType.FLOAT64, 0, 0, 0);
        }
    }

    /// A vector of Spark ML in each row: all values, or those that are not zero and their indices.
    private static final class MlVectors extends ParquetColumn {
        private static final int SPARSE = 0;

        private final Leaf types;
        private final Leaf sizes;
        private final ListLeaf indices;
        private final ListLeaf values;
        private final int[] ownIndices;
        private final double[] ownValues;

        MlVectors(Column column, MessageType schema, ColumnReadStoreImpl store, RowPlace place) {
            super(column, place);
            this.types = new Leaf(schema, store, column.name(), "type");
            this.sizes = new Leaf(schema, store, column.name(), "size");
            this.indices = new ListLeaf(schema, store, column.name(), "indices");
            this.values = new ListLeaf(schema, store, column.name(), "values");
            this.ownIndices = new int[column.length()];
            this.ownValues = new double[column.length()];
        }

        @Override
        void readRow(Object array, int index, int row) {
            if (types.isNull()) {
                throw nullValue(row);
            }
            boolean isSparse = types.reader.getInteger() == SPARSE;
            int length = isSparse ? sizes.reader.getInteger() : -1;
            int limit = column.length();
            indices.read(this, ownIndices, DataType.INT32, 0, limit, row);
            int count = values.read(this, ownValues, DataType.FLOAT64, 0, limit, row);
            if (!isSparse) {
                length = count;
            }
            if (length != limit) {
                throw wrongLength(row, length);
            }
            // A new array has zeros already.
            for (int i = 0; i < count; i++) {
                int at = index + (isSparse ? ownIndices[i] : i);
                if (!ColumnArrays.set(array, column.type(), at, ownValues[i])) {
                    throw bad(row, Double.toString(ownValues[i]));
                }
            }
            types.consume();
            sizes.consume();
        }

        @Override
        void skip() {
            types.consume();
            sizes.consume();
            indices.skip();
            values.skip();
        }

        @Override
        int firstLength() {
            if (types.isNull()) {
                throw nullValue(0);
            }
            return types.reader.getInteger() == SPARSE
                    ? sizes.reader.getInteger()
                    : values.read(this, ownValues, DataType.FLOAT64, 0, 0, 0);
        }
    }
}
