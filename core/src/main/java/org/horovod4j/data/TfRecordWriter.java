package org.horovod4j.data;

import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPOutputStream;

/// Writes a TFRecord file, which TensorFlow and [TfRecordReader] read.
///
/// ```java
/// try (TfRecordWriter records = TfRecordWriter.create(Path.of("train.tfrecord"))) {
///     records.write(bytes);
/// }
/// ```
public final class TfRecordWriter implements Closeable {
    private static final int BUFFER_BYTES = 1 << 16;

    private final OutputStream out;

    private TfRecordWriter(OutputStream out) {
        this.out = out;
    }

    /// Creates a file, or replaces it.
    public static TfRecordWriter create(Path file) throws IOException {
        return new TfRecordWriter(
                new BufferedOutputStream(Files.newOutputStream(file), BUFFER_BYTES));
    }

    /// Creates a file that is compressed with gzip, or replaces it. Such a file can only be read from
    /// start to end.
    public static TfRecordWriter createGzip(Path file) throws IOException {
        OutputStream raw = Files.newOutputStream(file);
        try {
            return new TfRecordWriter(
                    new BufferedOutputStream(new GZIPOutputStream(raw), BUFFER_BYTES));
        } catch (IOException | RuntimeException e) {
            raw.close();
            throw e;
        }
    }

    public void write(byte[] record) throws IOException {
        out.write(TfRecordFormat.header(record.length).array());
        out.write(record);
        out.write(TfRecordFormat.footer(ByteBuffer.wrap(record)).array());
    }

    @Override
    public void close() throws IOException {
        out.close();
    }
}
