package org.horovod4j.checkpoint;

import org.horovod4j.DataType;
import org.horovod4j.Tensor;
import org.horovod4j.training.TensorSpec;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.zip.CRC32C;

/// The file of a checkpoint: metadata as text, tensors as bytes, and a checksum that reveals an
/// incomplete file.
///
/// | part     | bytes                                                                             |
/// |----------|-----------------------------------------------------------------------------------|
/// | magic    | `HVD4JCKP`                                                                        |
/// | version  | int: 1                                                                            |
/// | metadata | int: the number of entries; for each a string: the name, a string: the value      |
/// | tensors  | int: the number of tensors; for each a string: the name, a string: the            |
/// |          | [DataType], an int: the number of dimensions, a long for each, a long: the number |
/// |          | of bytes, the bytes                                                               |
/// | checksum | long: CRC-32C of everything before                                                |
///
/// A string is an int, its length in bytes, and UTF-8. All numbers are little-endian, elements
/// included.
///
/// @param metadata in the order of writing
/// @param tensors by name; their bytes are those of the mapped file, valid as long as its arena
public record CheckpointFile(Map<String, String> metadata, Map<String, StoredTensor> tensors) {
    private static final byte[] MAGIC = "HVD4JCKP".getBytes(StandardCharsets.US_ASCII);
    private static final int VERSION = 1;
    private static final long CHECKSUM_BYTES = Long.BYTES;
    private static final int CHUNK_BYTES = 1 << 26;

    /// A tensor in a file.
    public record StoredTensor(TensorSpec spec, MemorySegment bytes) {}

    /// A file is not a complete checkpoint.
    public static final class DamagedFileException extends IOException {
        private static final long serialVersionUID = 1;

        DamagedFileException(String message) {
            super(message);
        }
    }

    public List<TensorSpec> specs() {
        return tensors.values().stream().map(StoredTensor::spec).toList();
    }

    /// Writes a new file, and returns when it is on the disk.
    ///
    /// @param tensors by name; each is asked for once, when it is written
    static void write(
            Path file, Map<String, String> metadata, Map<String, Supplier<Tensor>> tensors)
            throws IOException {
        checkByteOrder();
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            Writer writer = new Writer(channel, new CRC32C());
            writer.bytes(MemorySegment.ofArray(MAGIC));
            writer.number(VERSION);
            writer.number(metadata.size());
            for (Map.Entry<String, String> entry : metadata.entrySet()) {
                writer.string(entry.getKey());
                writer.string(entry.getValue());
            }
            writer.number(tensors.size());
            for (Map.Entry<String, Supplier<Tensor>> entry : tensors.entrySet()) {
                writer.tensor(entry.getKey(), entry.getValue().get());
            }
            writer.number(writer.checksum.getValue());
            channel.force(true);
        }
    }

    /// Maps a file and verifies its checksum.
    ///
    /// @throws DamagedFileException when the file is incomplete, or is not a checkpoint
    static CheckpointFile read(Path file, Arena arena) throws IOException {
        checkByteOrder();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            MemorySegment all =
                    channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            check(all);
            Reader reader = new Reader(all, MAGIC.length + Integer.BYTES);
            return new CheckpointFile(reader.metadata(), reader.tensors());
        } catch (IndexOutOfBoundsException | IllegalArgumentException e) {
            throw new DamagedFileException("its content is invalid: " + e.getMessage());
        }
    }

    private static void check(MemorySegment all) throws DamagedFileException {
        long least = MAGIC.length + Integer.BYTES + CHECKSUM_BYTES;
        if (all.byteSize() < least
                || all.asSlice(0, MAGIC.length).mismatch(MemorySegment.ofArray(MAGIC)) != -1) {
            throw new DamagedFileException("it does not start like a checkpoint of Horovod4J");
        }
        int version = all.get(Reader.INT, MAGIC.length);
        if (version != VERSION) {
            throw new DamagedFileException(
                    "it has version %d of the format, but this release reads version %d"
                            .formatted(version, VERSION));
        }
        long end = all.byteSize() - CHECKSUM_BYTES;
        CRC32C checksum = new CRC32C();
        for (long at = 0; at < end; at += CHUNK_BYTES) {
            checksum.update(all.asSlice(at, Math.min(CHUNK_BYTES, end - at)).asByteBuffer());
        }
        if (checksum.getValue() != all.get(Reader.LONG, end)) {
            throw new DamagedFileException(
                    "its checksum is wrong: it is incomplete or was changed");
        }
    }

    /// Elements are written as they are in memory, so memory must be little-endian.
    private static void checkByteOrder() throws IOException {
        if (ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
            throw new IOException(
                    "checkpoints can be used on little-endian machines only, and this machine is big-endian");
        }
    }

    private record Writer(FileChannel channel, CRC32C checksum) {
        void number(int value) throws IOException {
            ByteBuffer bytes = ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            bytes(MemorySegment.ofBuffer(bytes.putInt(value).flip()));
        }

        void number(long value) throws IOException {
            ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            bytes(MemorySegment.ofBuffer(bytes.putLong(value).flip()));
        }

        void string(String text) throws IOException {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            number(bytes.length);
            bytes(MemorySegment.ofArray(bytes));
        }

        void tensor(String name, Tensor tensor) throws IOException {
            TensorSpec spec = TensorSpec.of(name, tensor);
            string(name);
            string(spec.dataType().name());
            number(spec.shape().size());
            for (long dimension : spec.shape()) {
                number(dimension);
            }
            MemorySegment bytes = tensor.segment();
            number(bytes.byteSize());
            bytes(bytes);
        }

        private void bytes(MemorySegment bytes) throws IOException {
            for (long at = 0; at < bytes.byteSize(); at += CHUNK_BYTES) {
                MemorySegment slice =
                        bytes.asSlice(at, Math.min(CHUNK_BYTES, bytes.byteSize() - at));
                // a segment over a float[] has no ByteBuffer
                ByteBuffer piece =
                        slice.isNative()
                                ? slice.asByteBuffer()
                                : ByteBuffer.wrap(slice.toArray(ValueLayout.JAVA_BYTE));
                checksum.update(piece.duplicate());
                while (piece.hasRemaining()) {
                    int _ = channel.write(piece);
                }
            }
        }
    }

    private static final class Reader {
        static final ValueLayout.OfInt INT =
                ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
        static final ValueLayout.OfLong LONG =
                ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

        private final MemorySegment all;
        private long at;

        Reader(MemorySegment all, long start) {
            this.all = all;
            this.at = start;
        }

        Map<String, String> metadata() {
            Map<String, String> metadata = new LinkedHashMap<>();
            int count = number();
            for (int i = 0; i < count; i++) {
                metadata.put(string(), string());
            }
            return metadata;
        }

        Map<String, StoredTensor> tensors() {
            Map<String, StoredTensor> tensors = new LinkedHashMap<>();
            int count = number();
            for (int i = 0; i < count; i++) {
                String name = string();
                DataType dataType = DataType.valueOf(string());
                List<Long> shape = new ArrayList<>();
                int dimensions = number();
                for (int dimension = 0; dimension < dimensions; dimension++) {
                    shape.add(longNumber());
                }
                tensors.put(
                        name,
                        new StoredTensor(
                                new TensorSpec(name, dataType, List.copyOf(shape)),
                                bytes(longNumber())));
            }
            return tensors;
        }

        private int number() {
            int value = all.get(INT, at);
            at += Integer.BYTES;
            return value;
        }

        private long longNumber() {
            long value = all.get(LONG, at);
            at += Long.BYTES;
            return value;
        }

        private String string() {
            return new String(
                    bytes(number()).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
        }

        private MemorySegment bytes(long length) {
            MemorySegment slice = all.asSlice(at, length);
            at += length;
            return slice;
        }
    }
}
