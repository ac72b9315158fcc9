package org.horovod4j.frame;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.util.Collection;
import java.util.function.BiConsumer;

/// Encodes a message: one byte for its kind, then its fields in order, big-endian. Text, byte
/// arrays and lists begin with their length. [FieldReader] decodes it.
public final class FieldWriter {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    private FieldWriter() {}

    /// Begins a message.
    public static FieldWriter of(byte kind) {
        return new FieldWriter().octet(kind);
    }

    public byte[] toByteArray() {
        return bytes.toByteArray();
    }

    public FieldWriter octet(int value) {
        bytes.write(value);
        return this;
    }

    public FieldWriter flag(boolean value) {
        return octet(value ? 1 : 0);
    }

    public FieldWriter int32(int value) {
        for (int shift = Integer.SIZE - Byte.SIZE; shift >= 0; shift -= Byte.SIZE) {
            octet(value >> shift);
        }
        return this;
    }

    public FieldWriter int64(long value) {
        return int32((int) (value >> Integer.SIZE)).int32((int) value);
    }

    public FieldWriter bytes(byte[] value) {
        int32(value.length);
        bytes.writeBytes(value);
        return this;
    }

    public FieldWriter text(String value) {
        return bytes(value.getBytes(UTF_8));
    }

    /// An enum constant, as its ordinal.
    public FieldWriter constant(Enum<?> value) {
        return octet(value.ordinal());
    }

    /// The number of values, then each value.
    ///
    /// @param each writes one value
    public <T> FieldWriter list(Collection<T> values, BiConsumer<FieldWriter, T> each) {
        int32(values.size());
        values.forEach(value -> each.accept(this, value));
        return this;
    }
}
