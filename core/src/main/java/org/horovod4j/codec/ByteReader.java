package org.horovod4j.codec;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Array;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/// Reads bytes from another process, from front to back. It trusts nothing in them: it compares each
/// length with the bytes that are left before it allocates memory.
final class ByteReader {
    private static final int MAX_ARRAY = Integer.MAX_VALUE - 8;

    private final MemorySegment bytes;
    private long position;

    ByteReader(MemorySegment bytes) {
        this.bytes = bytes;
    }

    long remaining() {
        return bytes.byteSize() - position;
    }

    ValueTag tag() {
        int code = octet();
        ValueTag valueTag = ValueTag.of(code);
        if (valueTag == null) {
            throw corrupt("no kind of value has the number " + code);
        }
        return valueTag;
    }

    /// The next byte, from 0 to 255.
    int octet() {
        if (remaining() < 1) {
            throw corrupt("it ends too early");
        }
        return bytes.get(LittleEndianLayouts.BYTE, position++) & 0xFF;
    }

    /// What [ByteWriter#varint] wrote.
    long varint() {
        long value = 0;
        for (int shift = 0; shift < Long.SIZE; shift += 7) {
            long octet = octet();
            long bits = octet & 0x7F;
            if ((bits << shift) >>> shift != bits) {
                break;
            }
            value |= bits << shift;
            if (octet == bits) {
                return value;
            }
        }
        throw corrupt("a number has more than 64 bits");
    }

    /// What [ByteWriter#signed] wrote, which must lie between the bounds.
    long signed(long least, long most) {
        long raw = varint();
        return checkRange(least, most, (raw >>> 1) ^ -(raw & 1));
    }

    /// A varint that must lie between 0 and `most`.
    int boundedVarint(int most) {
        return (int) checkRange(0, most, varint());
    }

    float float32() {
        return bytes.get(LittleEndianLayouts.FLOAT, advance(Float.BYTES));
    }

    double float64() {
        return bytes.get(LittleEndianLayouts.DOUBLE, advance(Double.BYTES));
    }

    String text() {
        byte[] encoded = octets();
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(encoded)).toString();
        } catch (CharacterCodingException e) {
            throw corrupt("a text is not UTF-8", e);
        }
    }

    BigInteger bigInteger() {
        byte[] digits = octets();
        if (digits.length == 0) {
            throw corrupt("a whole number has no digits");
        }
        try {
            return new BigInteger(digits);
        } catch (ArithmeticException e) { // it has 2^31 bits or more
            throw corrupt("a whole number is too long", e);
        }
    }

    byte[] octets() {
        return (byte[]) array(LittleEndianLayouts.BYTE);
    }

    /// What [ByteWriter#array] wrote: an array of the layout's primitive type.
    Object array(ValueLayout element) {
        int length = count((int) element.byteSize());
        Object array = Array.newInstance(element.carrier(), length);
        MemorySegment.copy(bytes, element, advance(length * element.byteSize()), array, 0, length);
        return array;
    }

    boolean[] booleans() {
        boolean[] values = new boolean[count(1)];
        for (int i = 0; i < values.length; i++) {
            values[i] = checkRange(0, 1, octet()) == 1;
        }
        return values;
    }

    /// How many things follow, each of which takes at least `leastBytes`.
    int count(int leastBytes) {
        long count = varint();
        long possible = Math.min(MAX_ARRAY, remaining() / leastBytes);
        if (count < 0 || count > possible) {
            throw corrupt(
                    "%s elements are announced where %d bytes are left"
                            .formatted(Long.toUnsignedString(count), remaining()));
        }
        return (int) count;
    }

    CodecException corrupt(String what) {
        return corrupt(what, null);
    }

    CodecException corrupt(String what, @Nullable Throwable cause) {
        return new CodecException(
                """
                the bytes of an object are corrupt at %d of %d: %s
                Do all ranks run the same version of Horovod4J, and call their collectives in the \
                same order?"""
                        .formatted(position, bytes.byteSize(), what),
                cause);
    }

    private long checkRange(long least, long most, long value) {
        if (value < least || value > most) {
            throw corrupt("%d is not between %d and %d".formatted(value, least, most));
        }
        return value;
    }

    private long advance(long byteSize) {
        if (remaining() < byteSize) {
            throw corrupt("it ends too early");
        }
        long from = position;
        position += byteSize;
        return from;
    }
}
