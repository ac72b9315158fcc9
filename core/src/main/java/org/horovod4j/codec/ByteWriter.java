package org.horovod4j.codec;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/// Bytes that grow as values are appended. [ByteReader] reads what this writes.
final class ByteWriter {
    /// The longest array that every JVM can make.
    private static final int MAX_BYTES = Integer.MAX_VALUE - 8;

    private byte[] bytes = new byte[256];
    private MemorySegment segment = MemorySegment.ofArray(bytes);
    private int size;

    byte[] toByteArray() {
        return Arrays.copyOf(bytes, size);
    }

    void tag(ValueTag valueTag) {
        octet(valueTag.code());
    }

    void octet(int value) {
        reserve(1);
        bytes[size++] = (byte) value;
    }

    /// Appends a number that is rarely large or negative: 7 bits a byte, the lowest first, and the
    /// top bit set while more follow.
    void varint(long value) {
        long rest = value;
        while ((rest & ~0x7FL) != 0) {
            octet((int) ((rest & 0x7F) | 0x80));
            rest >>>= 7;
        }
        octet((int) rest);
    }

    /// Appends a number that may be negative: 0, -1, 1, -2, … become the varints 0, 1, 2, 3, …
    void signed(long value) {
        varint((value << 1) ^ (value >> 63));
    }

    void float32(float value) {
        reserve(Float.BYTES);
        segment.set(LittleEndianLayouts.FLOAT, size, value);
        size += Float.BYTES;
    }

    void float64(double value) {
        reserve(Double.BYTES);
        segment.set(LittleEndianLayouts.DOUBLE, size, value);
        size += Double.BYTES;
    }

    /// Appends length and UTF-8. A lone surrogate has no UTF-8 and would silently become a question
    /// mark.
    void text(String value) throws CharacterCodingException {
        ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(value));
        int length = encoded.remaining();
        varint(length);
        reserve(length);
        encoded.get(bytes, size, length);
        size += length;
    }

    void octets(byte[] value) {
        array(value, LittleEndianLayouts.BYTE);
    }

    /// Appends the length of a primitive array and its elements, whose type is the layout's.
    void array(Object array, ValueLayout element) {
        int length = Array.getLength(array);
        long byteSize = length * element.byteSize();
        varint(length);
        reserve(byteSize);
        MemorySegment.copy(array, 0, segment, element, size, length);
        size += (int) byteSize;
    }

    /// Appends an array of the one primitive type that memory segments do not copy.
    void booleans(boolean[] values) {
        varint(values.length);
        reserve(values.length);
        for (boolean value : values) {
            bytes[size++] = (byte) (value ? 1 : 0);
        }
    }

    private void reserve(long extra) {
        long needed = size + extra;
        if (needed <= bytes.length) {
            return;
        }
        if (needed > MAX_BYTES) {
            throw new CodecException(
                    "the object takes more than 2 GiB of bytes; send its large arrays as tensors");
        }
        bytes = Arrays.copyOf(bytes, (int) Math.min(MAX_BYTES, Math.max(needed, 2L * size)));
        segment = MemorySegment.ofArray(bytes);
    }
}
