package org.horovod4j.data;

import org.horovod4j.data.TfRecordFormat.Place;
import org.jspecify.annotations.Nullable;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/// Reads a TFRecord file from start to end. It may be compressed with gzip.
///
/// ```java
/// try (TfRecordReader records = TfRecordReader.open(Path.of("train.tfrecord"))) {
///     Iterator<byte[]> own = new RoundRobin<>(records, Hvd.rank(), Hvd.size(), _ -> {});
///     while (own.hasNext()) {
///         train(own.next());
///     }
/// }
/// ```
///
/// A record is any bytes; most programs store a `tf.train.Example`. [TfRecordFiles] reads records in
/// any order, so it can shuffle, but not from compressed files.
///
/// [#hasNext] throws an [UncheckedIOException] whose message has the file, the record and its offset,
/// when the file is truncated or damaged.
public final class TfRecordReader implements Iterator<byte[]>, AutoCloseable {
    private static final int BUFFER_BYTES = 1 << 16;

    private final Path file;
    private final InputStream in;
    private byte @Nullable [] next;
    private long record;
    private long offset;

    private TfRecordReader(Path file, InputStream in) {
        this.file = file;
        this.in = in;
    }

    /// Opens a file, and finds out whether it is compressed.
    public static TfRecordReader open(Path file) throws IOException {
        InputStream raw = new BufferedInputStream(Files.newInputStream(file), BUFFER_BYTES);
        try {
            return new TfRecordReader(
                    file, isGzip(raw) ? new GZIPInputStream(raw, BUFFER_BYTES) : raw);
        } catch (ZipException | EOFException e) {
            raw.close();
            throw damagedGzip(file, e);
        } catch (IOException | RuntimeException e) {
            raw.close();
            throw e;
        }
    }

    private static boolean isGzip(InputStream raw) throws IOException {
        raw.mark(TfRecordFormat.HEADER_BYTES);
        byte[] start = raw.readNBytes(TfRecordFormat.HEADER_BYTES);
        raw.reset();
        return TfRecordFormat.isGzip(ByteBuffer.wrap(start));
    }

    private static IOException damagedGzip(Path file, IOException cause) {
        return new IOException(
                "%s is a gzip file that is truncated or damaged: %s"
                        .formatted(file, cause.getMessage()),
                cause);
    }

    /// @throws UncheckedIOException when the file cannot be read, is truncated or is damaged
    @Override
    public boolean hasNext() {
        if (next == null) {
            try {
                next = read();
            } catch (IOException e) {
                throw new UncheckedIOException(e.getMessage(), e);
            }
        }
        return next != null;
    }

    /// @return null at the end of the file
    private byte @Nullable [] read() throws IOException {
        Place place = new Place(file, record, offset);
        try {
            byte[] header = in.readNBytes(TfRecordFormat.HEADER_BYTES);
            if (header.length == 0) {
                return null;
            }
            if (header.length < TfRecordFormat.HEADER_BYTES) {
                throw place.truncated();
            }
            int length = TfRecordFormat.length(ByteBuffer.wrap(header), place);
            byte[] bytes = in.readNBytes(length);
            byte[] footer = in.readNBytes(TfRecordFormat.FOOTER_BYTES);
            if (bytes.length < length || footer.length < TfRecordFormat.FOOTER_BYTES) {
                throw place.truncated();
            }
            int checksum = ByteBuffer.wrap(footer).order(ByteOrder.LITTLE_ENDIAN).getInt();
            TfRecordFormat.check(ByteBuffer.wrap(bytes), checksum, place);
            record++;
            offset += TfRecordFormat.HEADER_BYTES + (long) length + TfRecordFormat.FOOTER_BYTES;
            return bytes;
        } catch (ZipException | EOFException e) { // only a compressed file throws these
            throw damagedGzip(file, e);
        }
    }

    @Override
    public byte[] next() {
        if (!hasNext() || next == null) {
            throw new NoSuchElementException();
        }
        byte[] bytes = next;
        next = null;
        return bytes;
    }

    @Override
    public void close() throws IOException {
        in.close();
    }
}
