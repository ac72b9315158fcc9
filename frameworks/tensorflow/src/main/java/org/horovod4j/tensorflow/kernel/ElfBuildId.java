package org.horovod4j.tensorflow.kernel;

import static java.nio.ByteOrder.LITTLE_ENDIAN;
import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Optional;

/// Reads the ELF build ID of a library: a note in a segment of its own.
final class ElfBuildId {
    private static final int ELF_64_BIT_LITTLE_ENDIAN = 0x0102;
    private static final int HEADER_BYTES = 64;
    private static final int SEGMENT_BYTES = 56;
    private static final int NOTE_SEGMENT = 4;
    private static final int MAX_NOTES_BYTES = 1 << 16;
    private static final int BUILD_ID = 3;

    private ElfBuildId() {}

    /// Reads it from the file of a library.
    ///
    /// @return hexadecimal; empty if the file has none, is truncated, or is not a library of 64-bit Linux
    static Optional<String> of(Path library) throws IOException {
        try (FileChannel file = FileChannel.open(library)) {
            ByteBuffer header = read(file, 0, HEADER_BYTES);
            if (header.remaining() < HEADER_BYTES
                    || header.getInt(0) != 0x464c457f
                    || header.getShort(4) != ELF_64_BIT_LITTLE_ENDIAN) {
                return Optional.empty();
            }
            long segments = header.getLong(32);
            int bytes = Short.toUnsignedInt(header.getShort(54));
            int count = Short.toUnsignedInt(header.getShort(56));
            for (int i = 0; i < count; i++) {
                ByteBuffer segment = read(file, segments + (long) i * bytes, SEGMENT_BYTES);
                if (segment.remaining() < SEGMENT_BYTES) {
                    return Optional.empty();
                }
                if (segment.getInt(0) == NOTE_SEGMENT) {
                    Optional<String> found =
                            buildId(read(file, segment.getLong(8), segment.getLong(32)));
                    if (found.isPresent()) {
                        return found;
                    }
                }
            }
            return Optional.empty();
        }
    }

    private static Optional<String> buildId(ByteBuffer notes) {
        while (notes.remaining() >= 12) {
            int nameBytes = notes.getInt();
            int contentBytes = notes.getInt();
            int type = notes.getInt();
            if (nameBytes < 0 || contentBytes < 0 || nameBytes > notes.remaining() - contentBytes) {
                return Optional.empty();
            }
            byte[] name = take(notes, nameBytes);
            byte[] content = take(notes, contentBytes);
            if (type == BUILD_ID && new String(name, US_ASCII).equals("GNU\0")) {
                return Optional.of(HexFormat.of().formatHex(content));
            }
        }
        return Optional.empty();
    }

    /// The next bytes; the rest up to a multiple of 4 is skipped.
    private static byte[] take(ByteBuffer notes, int count) {
        byte[] bytes = new byte[Math.min(count, notes.remaining())];
        notes.get(bytes);
        notes.position(Math.min(notes.limit(), (notes.position() + 3) & ~3));
        return bytes;
    }

    /// @return fewer bytes if the file ends before, and none for numbers that are not valid
    private static ByteBuffer read(FileChannel file, long position, long count) throws IOException {
        boolean isValid = position >= 0 && count >= 0 && count <= MAX_NOTES_BYTES;
        ByteBuffer bytes = ByteBuffer.allocate(isValid ? (int) count : 0).order(LITTLE_ENDIAN);
        while (bytes.hasRemaining() && file.read(bytes, position + bytes.position()) > 0) {
            // until all are there, or the file ends
        }
        return bytes.flip();
    }
}
