package org.horovod4j.spark.data;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.api.WriteSupport;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.util.HadoopOutputFile;
import org.apache.parquet.io.OutputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.io.api.RecordConsumer;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Types;
import org.horovod4j.spark.data.StoredRows.RowGroup;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// Writes rows to a Parquet file. A vector is one binary value, which has its elements as they are in
/// memory (little endian): reading it is a copy, and not one call for each element.
final class PartWriter implements AutoCloseable {
    /// Small enough that a rank has several row groups to shuffle, and large enough for one read.
    private static final long ROW_GROUP_BYTES = 16 << 20;

    private final String file;
    private final BatchSupport support;
    private final ParquetWriter<Integer> writer;

    PartWriter(
            Path file,
            Configuration configuration,
            List<Column> columns,
            CompressionCodecName compression,
            int rowsPerGroup)
            throws IOException {
        this.file = file.toString();
        this.support = new BatchSupport(columns);
        this.writer =
                new Builder(HadoopOutputFile.fromPath(file, configuration), support)
                        .withConf(configuration)
                        .withCompressionCodec(compression)
                        // Statistics and dictionaries are of use for queries, and cost time.
                        .withDictionaryEncoding(false)
                        .withStatisticsEnabled(false)
                        .withRowGroupSize(4 * ROW_GROUP_BYTES)
                        .withRowGroupRowCountLimit(rowsPerGroup)
                        .build();
    }

    /// The size of row groups that a [RankReader] reads well.
    static int rowsPerGroup(List<Column> columns) {
        long perRow = columns.stream().mapToLong(Column::byteSize).sum();
        return Math.clamp(ROW_GROUP_BYTES / perRow, 1, 1 << 20);
    }

    void write(RowBatch batch, int row) throws IOException {
        support.batch = batch;
        writer.write(row);
    }

    @Override
    public void close() throws IOException {
        writer.close();
    }

    /// What was written. Call it after [#close].
    List<RowGroup> rowGroups() {
        List<RowGroup> groups = new ArrayList<>();
        for (BlockMetaData block : writer.getFooter().getBlocks()) {
            groups.add(new RowGroup(file, groups.size(), block.getRowCount()));
        }
        return groups;
    }

    private static final class Builder extends ParquetWriter.Builder<Integer, Builder> {
        private final BatchSupport support;

        Builder(OutputFile file, BatchSupport support) {
            super(file);
            this.support = support;
        }

        @Override
        protected Builder self() {
            return this;
        }

        @Override
        @SuppressWarnings("deprecation") // Parquet asks for it
        protected WriteSupport<Integer> getWriteSupport(Configuration configuration) {
            return support;
        }
    }

    /// Writes the rows of a batch by their numbers.
    private static final class BatchSupport extends WriteSupport<Integer> {
        private final List<Column> columns;
        private RowBatch batch;
        private RecordConsumer consumer;

        @SuppressWarnings("NullAway.Init") // the writer calls prepareForWrite before it writes
        BatchSupport(List<Column> columns) {
            this.columns = columns;
        }

        @Override
        @SuppressWarnings("deprecation") // Parquet asks for it
        public WriteContext init(Configuration configuration) {
            Types.MessageTypeBuilder schema = Types.buildMessage();
            for (Column column : columns) {
                schema.required(type(column)).named(column.name());
            }
            MessageType named = schema.named("rows");
            return new WriteContext(named, Map.of());
        }

        private static PrimitiveTypeName type(Column column) {
            if (column.isVector()) {
                return PrimitiveTypeName.BINARY;
            }
            return switch (column.type()) {
                case FLOAT32 -> PrimitiveTypeName.FLOAT;
                case FLOAT64 -> PrimitiveTypeName.DOUBLE;
                case INT64 -> PrimitiveTypeName.INT64;
                default -> PrimitiveTypeName.INT32;
            };
        }

        @Override
        public void prepareForWrite(RecordConsumer recordConsumer) {
            consumer = recordConsumer;
        }

        @Override
        public void write(Integer row) {
            consumer.startMessage();
            for (int i = 0; i < columns.size(); i++) {
                Column column = columns.get(i);
                consumer.startField(column.name(), i);
                write(column, batch.values(i), row);
                consumer.endField(column.name(), i);
            }
            consumer.endMessage();
        }

        private void write(Column column, Object array, int row) {
            if (column.isVector()) {
                int size = column.byteSize();
                byte[] bytes = new byte[size];
                MemorySegment.copy(
                        segment(array), (long) row * size, MemorySegment.ofArray(bytes), 0, size);
                consumer.addBinary(Binary.fromConstantByteArray(bytes));
                return;
            }
            switch (array) {
                case float[] floats -> consumer.addFloat(floats[row]);
                case double[] doubles -> consumer.addDouble(doubles[row]);
                case long[] longs -> consumer.addLong(longs[row]);
                case int[] ints -> consumer.addInteger(ints[row]);
                case short[] shorts -> consumer.addInteger(shorts[row]);
                default -> {
                    byte value = ((byte[]) array)[row];
                    consumer.addInteger(
                            column.type() == org.horovod4j.DataType.UINT8 ? value & 0xff : value);
                }
            }
        }

        private static MemorySegment segment(Object array) {
            return switch (array) {
                case float[] floats -> MemorySegment.ofArray(floats);
                case double[] doubles -> MemorySegment.ofArray(doubles);
                case long[] longs -> MemorySegment.ofArray(longs);
                case int[] ints -> MemorySegment.ofArray(ints);
                case short[] shorts -> MemorySegment.ofArray(shorts);
                default -> MemorySegment.ofArray((byte[]) array);
            };
        }
    }
}
