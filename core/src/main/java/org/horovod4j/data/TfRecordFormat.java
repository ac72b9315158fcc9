package org.horovod4j.data;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.zip.CRC32C;

/// A record in a TFRecord file.
///
/// | part            | bytes                                          |
/// |-----------------|------------------------------------------------|
/// | length          | long: the number of bytes of the record        |
/// | length checksum | int: masked CRC-32C of the length              |
/// | record          | the bytes                                      |
/// | record checksum | int: masked CRC-32C of the record              |
///
/// All numbers are little-endian. The mask is `rotateRight(crc, 15) + 0xa282ead8`.
final class TfRecordFormat {
    static final int HEADER_BYTES = Long.BYTES + Integer.BYTES;
    static final int FOOTER_BYTES = Integer.BYTES;

    private static final int MASK_DELTA = 0xa282ead8;
    private static final int GZIP_MAGIC = 0x8b1f;

    /// Arrays of almost 2 GiB are possible.
    private static final int MAX_RECORD_BYTES = Integer.MAX_VALUE - 16;

    private TfRecordFormat() {}

    static ByteBuffer header(int length) {
        ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        header.putLong(length);
        header.putInt(maskedChecksum(header.slice(0, Long.BYTES)));
        return header.flip();
    }

    static ByteBuffer footer(ByteBuffer record) {
        ByteBuffer footer = ByteBuffer.allocate(FOOTER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        return footer.putInt(maskedChecksum(record)).flip();
    }

    /// Does not move the position of `bytes`.
    private static int maskedChecksum(ByteBuffer bytes) {
        CRC32C checksum = new CRC32C();
        checksum.update(bytes.duplicate());
        return Integer.rotateRight((int) checksum.getValue(), 15) + MASK_DELTA;
    }

    /// Whether the checksum of the length is right.
    static boolean isHeader(ByteBuffer header) {
        return header.remaining() == HEADER_BYTES
                && maskedChecksum(header.slice(0, Long.BYTES))
                        == header.order(ByteOrder.LITTLE_ENDIAN).getInt(Long.BYTES);
    }

    /// Whether a file that starts with these bytes is compressed with gzip. A length may begin with the
    /// same bytes, so its checksum counts too.
    static boolean isGzip(ByteBuffer start) {
        return start.remaining() >= Short.BYTES
                && Short.toUnsignedInt(start.order(ByteOrder.LITTLE_ENDIAN).getShort(0))
                        == GZIP_MAGIC
                && !isHeader(start);
    }

    /// The length in a header.
    ///
    /// @throws IOException when its checksum is wrong, or the record does not fit in an array
    static int length(ByteBuffer header, Place place) throws IOException {
        if (!isHeader(header)) {
            throw new IOException(
                    place.isFirst()
                            ? """
                            %s is not a TFRecord file, or is damaged: the checksum of the length at its start is \
                            wrong"""
                                    .formatted(place.file)
                            : "%s: the checksum of the length is wrong, so the file is damaged"
                                    .formatted(place));
        }
        long length = header.order(ByteOrder.LITTLE_ENDIAN).getLong(0);
        if (length < 0 || length > MAX_RECORD_BYTES) {
            throw new IOException(
                    "%s: the record has %s bytes, more than fit in an array"
                            .formatted(place, Long.toUnsignedString(length)));
        }
        return (int) length;
    }

    /// @throws IOException when the checksum is wrong
    static void check(ByteBuffer record, int checksum, Place place) throws IOException {
        if (maskedChecksum(record) != checksum) {
            throw new IOException(
                    "%s: the checksum of the record is wrong, so the file is damaged"
                            .formatted(place));
        }
    }

    /// Where a record begins.
    ///
    /// @param record its number in the file, from 0
    /// @param offset in bytes, of the content if the file is compressed
    record Place(Path file, long record, long offset) {
        boolean isFirst() {
            return record == 0;
        }

        IOException truncated() {
            return new IOException(
                    "%s: the file ends within the record: it is truncated".formatted(this));
        }

        @Override
        public String toString() {
            return "%s, record %d at byte %d".formatted(file, record, offset);
        }
    }
}
