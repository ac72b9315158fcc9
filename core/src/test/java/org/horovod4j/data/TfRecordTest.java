package org.horovod4j.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;

/// The files `python.tfrecord` and `python.tfrecord.gz` were written by TensorFlow 2.21.0 for Python:
///
/// ```python
/// for name, compression in [("python.tfrecord", ""), ("python.tfrecord.gz", "GZIP")]:
///     with tf.io.TFRecordWriter(name, tf.io.TFRecordOptions(compression_type=compression)) as w:
///         for record in [b"first", b"", bytes(range(256))]:
///             w.write(record)
/// ```
class TfRecordTest {
    private static final int FRAME_BYTES =
            TfRecordFormat.HEADER_BYTES + TfRecordFormat.FOOTER_BYTES;

    @TempDir Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"python.tfrecord", "python.tfrecord.gz"})
    void filesOfPythonAreRead(String name) throws Exception {
        List<byte[]> records = readAll(resource(name));

        assertThat(records).containsExactly(pythonRecords().toArray(byte[][]::new));
    }

    @Test
    void filesAreWrittenAsPythonWritesThem() throws Exception {
        Path file = write("own", pythonRecords());

        assertThat(file).hasSameBinaryContentAs(resource("python.tfrecord"));
    }

    @Test
    void compressedFilesAreReadAsTheyWereWritten() throws Exception {
        Path file = folder.resolve("compressed");
        try (TfRecordWriter writer = TfRecordWriter.createGzip(file)) {
            for (byte[] record : pythonRecords()) {
                writer.write(record);
            }
        }

        assertThat(readAll(file)).containsExactly(pythonRecords().toArray(byte[][]::new));
        assertThatThrownBy(() -> TfRecordFiles.open(List.of(file)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(file + " is compressed");
    }

    @Test
    void lengthThatStartsLikeGzipIsALength() throws Exception {
        byte[] record = new byte[0x8b1f];
        Path file = write("large", List.of(record));

        assertThat(readAll(file)).containsExactly(record);
        try (TfRecordFiles files = TfRecordFiles.open(List.of(file))) {
            assertThat(files.get(0)).isEqualTo(record);
        }
    }

    @Test
    void fileWithoutRecordsHasNone() throws Exception {
        Path file = write("none", List.of());

        try (TfRecordReader reader = TfRecordReader.open(file)) {
            assertThat(reader.hasNext()).isFalse();
            assertThatThrownBy(reader::next).isInstanceOf(NoSuchElementException.class);
        }
    }

    @Test
    void recordsOfSeveralFilesAreReadInAnyOrder() throws Exception {
        List<Path> paths =
                List.of(
                        write("0", List.of()),
                        write("1", List.of(bytes("a"), bytes("b"))),
                        write("2", List.of()),
                        write("3", List.of()),
                        write("4", many(100)),
                        write("5", List.of()));
        try (TfRecordFiles files = TfRecordFiles.open(paths)) {
            assertThat(files.size()).isEqualTo(102);
            assertThat(files.get(new int[] {101, 1, 2, 0}))
                    .containsExactly(bytes("99"), bytes("b"), bytes("0"), bytes("a"));
            assertThatThrownBy(() -> files.get(102))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("there is no record 102 among 102");
            assertThatThrownBy(() -> files.get(-1)).isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    @Test
    void ranksReadEachRecordOnceInAnEpoch() throws Exception {
        List<String> all = new ArrayList<>();
        try (TfRecordFiles files = TfRecordFiles.open(List.of(write("all", many(20))))) {
            for (int rank = 0; rank < 2; rank++) {
                Shard shard = new Shard(files.size(), 3, Sampling.shuffled(1), rank, 2);
                for (int[] batch : shard.batches(0)) {
                    files.get(batch).forEach(record -> all.add(text(record)));
                }
            }
        }
        assertThat(all)
                .containsExactlyInAnyOrderElementsOf(
                        many(20).stream().map(TfRecordTest::text).toList())
                .isNotEqualTo(many(20).stream().map(TfRecordTest::text).toList());
    }

    /// A file without its last byte, within each part of a record, is truncated.
    @Test
    void truncatedFileIsReportedWithItsPlace() throws Exception {
        Path whole = write("whole", List.of(bytes("abc"), bytes("defg")));
        byte[] bytes = Files.readAllBytes(whole);
        int second = FRAME_BYTES + 3;
        for (int length = second + 1; length < bytes.length; length++) {
            Path file = folder.resolve("truncated");
            Files.write(file, Arrays.copyOf(bytes, length));
            String message =
                    "%s, record 1 at byte %d: the file ends within the record: it is truncated"
                            .formatted(file, second);

            assertFails(file, message);
        }
    }

    /// Each byte of a file is covered by a checksum.
    @Test
    void damagedFileIsReportedWithItsPlace() throws Exception {
        Path whole = write("whole", List.of(bytes("abc"), bytes("defg")));
        int second = FRAME_BYTES + 3;
        byte[] bytes = Files.readAllBytes(whole);
        for (int at = second; at < bytes.length; at++) {
            Path file = folder.resolve("damaged");
            byte[] damaged = bytes.clone();
            damaged[at] ^= 16;
            Files.write(file, damaged);
            String part = at < second + TfRecordFormat.HEADER_BYTES ? "length" : "record";

            assertFails(
                    file,
                    "%s, record 1 at byte %d: the checksum of the %s is wrong, so the file is damaged"
                            .formatted(file, second, part));
        }
    }

    @Test
    void otherFileIsNotATfRecordFile() throws Exception {
        Path file = folder.resolve("text.txt");
        Files.writeString(file, "some lines of text\n");

        assertFails(file, file + " is not a TFRecord file, or is damaged");
    }

    @Test
    void damagedGzipFileIsReported() throws Exception {
        byte[] bytes = Files.readAllBytes(resource("python.tfrecord.gz"));
        Path file = folder.resolve("damaged.gz");
        for (int length : new int[] {5, 100}) {
            Files.write(file, Arrays.copyOf(bytes, length));

            assertThatThrownBy(() -> readAll(file))
                    .hasMessageContaining(file + " is a gzip file that is truncated or damaged");
        }
    }

    @Test
    void recordLargerThanAnArrayIsRejected() throws Exception {
        Path file = folder.resolve("large");
        // a length of 2^40 with its checksum, computed with an independent implementation
        Files.write(file, new byte[] {0, 0, 0, 0, 0, 1, 0, 0, -86, 61, 107, -28});

        assertFails(
                file,
                file + ", record 0 at byte 0: the record has 1099511627776 bytes, more than fit");
    }

    private static void assertFails(Path file, String message) {
        assertThatThrownBy(() -> readAll(file))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining(message);
        assertThatThrownBy(
                        () -> {
                            try (TfRecordFiles files = TfRecordFiles.open(List.of(file))) {
                                for (int i = 0; i < files.size(); i++) {
                                    byte[] _ = files.get(i);
                                }
                            }
                        })
                .hasMessageContaining(message);
    }

    private static List<byte[]> readAll(Path file) throws IOException {
        List<byte[]> records = new ArrayList<>();
        try (TfRecordReader reader = TfRecordReader.open(file)) {
            reader.forEachRemaining(records::add);
        }
        return records;
    }

    private Path write(String name, List<byte[]> records) throws IOException {
        Path file = folder.resolve(name);
        try (TfRecordWriter writer = TfRecordWriter.create(file)) {
            for (byte[] record : records) {
                writer.write(record);
            }
        }
        return file;
    }

    private static List<byte[]> pythonRecords() {
        byte[] all = new byte[256];
        for (int i = 0; i < all.length; i++) {
            all[i] = (byte) i;
        }
        return List.of(bytes("first"), new byte[0], all);
    }

    private static List<byte[]> many(int count) {
        List<byte[]> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            records.add(bytes(String.valueOf(i)));
        }
        return records;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static Path resource(String name) throws URISyntaxException {
        return Path.of(
                Objects.requireNonNull(TfRecordTest.class.getResource("/tfrecord/" + name))
                        .toURI());
    }
}
