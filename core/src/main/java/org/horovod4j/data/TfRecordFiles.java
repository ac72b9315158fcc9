package org.horovod4j.data;

import org.horovod4j.data.TfRecordFormat.Place;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// The records of several TFRecord files, in any order: a data set that stays in files.
///
/// ```java
/// try (TfRecordFiles records = TfRecordFiles.open(files)) {
///     Shard shard = Sampling.shuffled(42).shard(records.size(), 32, Hvd.communicator());
///     for (int[] batch : shard.batches(epoch)) {
///         train(records.get(batch));
///     }
/// }
/// ```
///
/// Opening reads the length of each record, not the records. The files are mapped into memory. Any
/// number of threads may read.
public final class TfRecordFiles implements AutoCloseable {
    private static final ValueLayout.OfInt INT =
            ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final Arena arena;
    private final List<MappedFile> files;

    /// The number of the first record of each file.
    private final long[] firstRecords;

    private final long size;

    private TfRecordFiles(Arena arena, List<MappedFile> files) {
        this.arena = arena;
        this.files = files;
        this.firstRecords = new long[files.size()];
        long records = 0;
        for (int i = 0; i < firstRecords.length; i++) {
            firstRecords[i] = records;
            records += files.get(i).offsets.length;
        }
        this.size = records;
    }

    /// Opens files, whose records get numbers in the order of `files`.
    ///
    /// @throws IOException when a file is not a TFRecord file, is compressed, truncated or damaged
    public static TfRecordFiles open(List<Path> files) throws IOException {
        Arena arena = Arena.ofShared();
        try {
            List<MappedFile> mapped = new ArrayList<>();
            for (Path file : files) {
                mapped.add(MappedFile.open(file, arena));
            }
            return new TfRecordFiles(arena, mapped);
        } catch (IOException | RuntimeException e) {
            arena.close();
            throw e;
        }
    }

    /// The number of records.
    public long size() {
        return size;
    }

    /// A record.
    ///
    /// @param index from 0
    /// @throws UncheckedIOException when its checksum is wrong
    public byte[] get(long index) {
        if (index < 0 || index >= size) {
            throw new IndexOutOfBoundsException(
                    "there is no record %d among %d".formatted(index, size));
        }
        int found = Arrays.binarySearch(firstRecords, index);
        int file = found >= 0 ? lastWithSameStart(found) : -found - 2;
        try {
            return files.get(file).read((int) (index - firstRecords[file]));
        } catch (IOException e) {
            throw new UncheckedIOException(e.getMessage(), e);
        }
    }

    /// Files without records start with the same number as the next file.
    private int lastWithSameStart(int found) {
        int last = found;
        while (last + 1 < firstRecords.length && firstRecords[last + 1] == firstRecords[found]) {
            last++;
        }
        return last;
    }

    /// Several records, such as those of a batch of a [Shard].
    public List<byte[]> get(int[] indices) {
        return Arrays.stream(indices).mapToObj(this::get).toList();
    }

    /// Unmaps the files.
    @Override
    public void close() {
        arena.close();
    }

    private static final class MappedFile {
        private final Path path;
        private final MemorySegment bytes;

        /// Where each record begins.
        private final long[] offsets;

        private MappedFile(Path path, MemorySegment bytes, long[] offsets) {
            this.path = path;
            this.bytes = bytes;
            this.offsets = offsets;
        }

        static MappedFile open(Path path, Arena arena) throws IOException {
            MemorySegment bytes;
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
                bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            }
            long[] offsets = new long[16];
            int records = 0;
            long offset = 0;
            while (offset < bytes.byteSize()) {
                if (records == offsets.length) {
                    offsets = Arrays.copyOf(offsets, 2 * records);
                }
                offsets[records] = offset;
                offset = end(bytes, new Place(path, records, offset));
                records++;
            }
            return new MappedFile(path, bytes, Arrays.copyOf(offsets, records));
        }

        /// Where the next record begins.
        private static long end(MemorySegment bytes, Place place) throws IOException {
            long end =
                    place.offset()
                            + TfRecordFormat.HEADER_BYTES
                            + length(bytes, place)
                            + TfRecordFormat.FOOTER_BYTES;
            if (end > bytes.byteSize()) {
                throw place.truncated();
            }
            return end;
        }

        private static int length(MemorySegment bytes, Place place) throws IOException {
            if (bytes.byteSize() - place.offset() < TfRecordFormat.HEADER_BYTES) {
                throw place.truncated();
            }
            ByteBuffer header =
                    bytes.asSlice(place.offset(), TfRecordFormat.HEADER_BYTES).asByteBuffer();
            if (place.isFirst() && TfRecordFormat.isGzip(header)) {
                throw new IOException(
                        "%s is compressed: decompress it, or read it in order with TfRecordReader"
                                .formatted(place.file()));
            }
            return TfRecordFormat.length(header, place);
        }

        byte[] read(int record) throws IOException {
            Place place = new Place(path, record, offsets[record]);
            int length = length(bytes, place);
            MemorySegment content =
                    bytes.asSlice(place.offset() + TfRecordFormat.HEADER_BYTES, length);
            byte[] copy = content.toArray(ValueLayout.JAVA_BYTE);
            int checksum = bytes.get(INT, content.address() - bytes.address() + length);
            TfRecordFormat.check(ByteBuffer.wrap(copy), checksum, place);
            return copy;
        }
    }
}
