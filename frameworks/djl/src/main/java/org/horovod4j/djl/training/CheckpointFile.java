package org.horovod4j.djl.training;

import ai.djl.ndarray.NDArray;

import org.horovod4j.djl.ArraySpec;
import org.horovod4j.djl.TensorView;

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
import java.util.zip.CRC32C;

/// A checkpoint as a file: facts as text, arrays as bytes, and a checksum that tells a whole file
/// from a torn one.
///
/// | part     | bytes                                                                             |
/// |----------|-----------------------------------------------------------------------------------|
/// | magic    | `HVD4JCKP`                                                                        |
/// | version  | int: 1                                                                            |
/// | facts    | int: how many; for each a string: the name, a string: the value                   |
/// | arrays   | int: how many; for each a string: the name, a string: DJL's name of the type, an  |
/// |          | int: how many dimensions, a long for each, a long: how many bytes, the bytes      |
/// | checksum | long: CRC-32C of everything before                                                |
///
/// A string is an int, its length in bytes, and UTF-8. All numbers are little-endian, elements
/// included.
///
/// @param metadata in the order of writing
/// @param arrays by name; their bytes are the file's, mapped, and live as long as its arena
record CheckpointFile(Map<String, String> metadata, Map<String, StoredArray> arrays) {
    private static final byte[] MAGIC = "HVD4JCKP".getBytes(StandardCharsets.US_ASCII);
    private static final int VERSION = 1;
    private static final long CHECKSUM_BYTES = Long.BYTES;
    private static final int CHUNK_BYTES = 1 << 26;

    /// An array in a file.
    record StoredArray(ArraySpec spec, MemorySegment bytes) {}

    List<ArraySpec> specs() {
        return arrays.values().stream().map(StoredArray::spec).toList();
    }

    /// Writes a new file, and returns when it is on the disk.
    static void write(Path file, Map<String, String> facts, Map<String, NDArray> arrays)
            throws IOException {
        checkByteOrder();
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            Writer writer = new Writer(channel, new CRC32C());
            writer.bytes(MemorySegment.ofArray(MAGIC));
            writer.number(VERSION);
            writer.number(facts.size());
            for (Map.Entry<String, String> fact : facts.entrySet()) {
                writer.string(fact.getKey());
                writer.string(fact.getValue());
            }
            writer.number(arrays.size());
            for (Map.Entry<String, NDArray> array : arrays.entrySet()) {
                writer.array(array.getKey(), array.getValue());
            }
            writer.number(writer.checksum.getValue());
            channel.force(true);
        }
    }

    /// Maps a file, after its checksum has been found right.
    ///
    /// @throws DamagedFileException when it is torn, or no checkpoint at all
    static CheckpointFile read(Path file, Arena arena) throws IOException {
        checkByteOrder();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            MemorySegment all =
                    channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            check(all);
            Reader reader = new Reader(all, MAGIC.length + Integer.BYTES);
            return new CheckpointFile(reader.metadata(), reader.arrays());
        } catch (IndexOutOfBoundsException e) {
            throw new DamagedFileException("its parts do not fit together: " + e.getMessage());
        }
    }

    private static void check(MemorySegment all) throws DamagedFileException {
        long least = MAGIC.length + Integer.BYTES + CHECKSUM_BYTES;
        if (all.byteSize() < least
                || all.asSlice(0, MAGIC.length).mismatch(MemorySegment.ofArray(MAGIC)) != -1) {
            throw new DamagedFileException("it does not begin like a checkpoint of Horovod4J");
        }
        int version = all.get(Reader.INT, MAGIC.length);
        if (version != VERSION) {
            throw new DamagedFileException(
                    "it has version %d of the format, and this release reads version %d"
                            .formatted(version, VERSION));
        }
        long end = all.byteSize() - CHECKSUM_BYTES;
        CRC32C checksum = new CRC32C();
        for (long at = 0; at < end; at += CHUNK_BYTES) {
            checksum.update(all.asSlice(at, Math.min(CHUNK_BYTES, end - at)).asByteBuffer());
        }
        if (checksum.getValue() != all.get(Reader.LONG, end)) {
            throw new DamagedFileException(
                    "its checksum is wrong, so it was cut off or changed after it was written");
        }
    }

    /// Elements are written as they are in memory.
    private static void checkByteOrder() throws IOException {
        if (ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
            throw new IOException("checkpoints are little-endian, and this machine is not");
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

        void array(String name, NDArray array) throws IOException {
            ArraySpec form = ArraySpec.of(name, array);
            string(name);
            string(form.type());
            number(form.shape().size());
            for (long dimension : form.shape()) {
                number(dimension);
            }
            MemorySegment bytes = TensorView.of(array).tensor().segment();
            number(bytes.byteSize());
            bytes(bytes);
        }

        private void bytes(MemorySegment bytes) throws IOException {
            for (long at = 0; at < bytes.byteSize(); at += CHUNK_BYTES) {
                ByteBuffer piece =
                        bytes.asSlice(at, Math.min(CHUNK_BYTES, bytes.byteSize() - at))
                                .asByteBuffer();
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
            Map<String, String> facts = new LinkedHashMap<>();
            int count = number();
            for (int i = 0; i < count; i++) {
                facts.put(string(), string());
            }
            return facts;
        }

        Map<String, StoredArray> arrays() {
            Map<String, StoredArray> arrays = new LinkedHashMap<>();
            int count = number();
            for (int i = 0; i < count; i++) {
                String name = string();
                String type = string();
                List<Long> shape = new ArrayList<>();
                int dimensions = number();
                for (int dimension = 0; dimension < dimensions; dimension++) {
                    shape.add(longNumber());
                }
                arrays.put(
                        name,
                        new StoredArray(
                                new ArraySpec(name, type, List.copyOf(shape)),
                                bytes(longNumber())));
            }
            return arrays;
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
