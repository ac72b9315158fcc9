package org.horovod4j.codec;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.CharacterCodingException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.Set;

/// Writes one object. Each case of [#write] has its counterpart in [ObjectDecoder].
final class ObjectEncoder {
    private final ByteWriter byteWriter = new ByteWriter();
    private final Map<Class<?>, Integer> numbers = new HashMap<>();
    private final Map<Class<?>, RecordType> records = new HashMap<>();

    byte[] encode(@Nullable Object object) {
        byteWriter.octet(ObjectCodec.VERSION);
        write(object, new ValuePath.Root(rootName(object)));
        return byteWriter.toByteArray();
    }

    /// What errors call the outermost object.
    private static String rootName(@Nullable Object object) {
        return switch (object) {
            case Record value -> value.getClass().getSimpleName();
            case List<?> _ -> "list";
            case Set<?> _ -> "set";
            case Map<?, ?> _ -> "map";
            case Optional<?> _ -> "optional";
            case null, default -> "object";
        };
    }

    private void write(@Nullable Object object, ValuePath valuePath) {
        switch (object) {
            case null -> byteWriter.tag(ValueTag.NULL);
            case Boolean value -> byteWriter.tag(value ? ValueTag.TRUE : ValueTag.FALSE);
            case Byte value -> {
                byteWriter.tag(ValueTag.BYTE);
                byteWriter.octet(value);
            }
            case Short value -> signed(ValueTag.SHORT, value);
            case Integer value -> signed(ValueTag.INTEGER, value);
            case Long value -> signed(ValueTag.LONG, value);
            case Float value -> {
                byteWriter.tag(ValueTag.FLOAT);
                byteWriter.float32(value);
            }
            case Double value -> {
                byteWriter.tag(ValueTag.DOUBLE);
                byteWriter.float64(value);
            }
            case Character value -> {
                byteWriter.tag(ValueTag.CHARACTER);
                byteWriter.varint(value);
            }
            case String value -> {
                byteWriter.tag(ValueTag.STRING);
                text(value, valuePath);
            }
            case BigInteger value ->
                    array(ValueTag.BIG_INTEGER, value.toByteArray(), LittleEndianLayouts.BYTE);
            case BigDecimal value -> {
                signed(ValueTag.BIG_DECIMAL, value.scale());
                byteWriter.octets(value.unscaledValue().toByteArray());
            }
            case Duration value -> {
                signed(ValueTag.DURATION, value.getSeconds());
                byteWriter.varint(value.getNano());
            }
            case Instant value -> {
                signed(ValueTag.INSTANT, value.getEpochSecond());
                byteWriter.varint(value.getNano());
            }
            case boolean[] values -> {
                byteWriter.tag(ValueTag.BOOLEANS);
                byteWriter.booleans(values);
            }
            case byte[] values -> array(ValueTag.BYTES, values, LittleEndianLayouts.BYTE);
            case short[] values -> array(ValueTag.SHORTS, values, LittleEndianLayouts.SHORT);
            case int[] values -> array(ValueTag.INTEGERS, values, LittleEndianLayouts.INT);
            case long[] values -> array(ValueTag.LONGS, values, LittleEndianLayouts.LONG);
            case float[] values -> array(ValueTag.FLOATS, values, LittleEndianLayouts.FLOAT);
            case double[] values -> array(ValueTag.DOUBLES, values, LittleEndianLayouts.DOUBLE);
            case char[] values -> array(ValueTag.CHARACTERS, values, LittleEndianLayouts.CHAR);
            // Records and enums come before the interfaces that one of them might implement.
            case Enum<?> value -> enumeration(value, valuePath);
            case Record value -> record(value, valuePath);
            case Optional<?> value -> optional(value, valuePath);
            case List<?> values -> elements(ValueTag.LIST, values.toArray(), valuePath);
            case Set<?> values -> elements(ValueTag.SET, values.toArray(), valuePath);
            case Map<?, ?> values -> map(values, valuePath);
            default -> throw unsupported(object.getClass(), valuePath);
        }
    }

    private void signed(ValueTag valueTag, long value) {
        byteWriter.tag(valueTag);
        byteWriter.signed(value);
    }

    private void array(ValueTag valueTag, Object array, ValueLayout element) {
        byteWriter.tag(valueTag);
        byteWriter.array(array, element);
    }

    private void text(String value, ValuePath valuePath) {
        try {
            byteWriter.text(value);
        } catch (CharacterCodingException e) {
            throw new CodecException(
                    """
                    the string at %s is not Unicode text: it has an unpaired surrogate
                    Send it as a char[], or correct it."""
                            .formatted(valuePath),
                    e);
        }
    }

    private void enumeration(Enum<?> value, ValuePath valuePath) {
        byteWriter.tag(ValueTag.ENUM);
        // Not getClass(): a constant with a body has a class of its own.
        writeClassReference(value.getDeclaringClass(), valuePath);
        text(value.name(), valuePath);
    }

    private void record(Record value, ValuePath valuePath) {
        valuePath.checkDepth();
        byteWriter.tag(ValueTag.RECORD);
        boolean isNew = writeClassReference(value.getClass(), valuePath);
        RecordType type =
                records.computeIfAbsent(
                        value.getClass(), absent -> RecordType.of(absent, valuePath));
        if (isNew) {
            writeComponents(type, valuePath);
        }
        for (RecordType.Component component : type.components()) {
            ValuePath place = new ValuePath.Component(valuePath, component.name());
            Object part = component.read(value, place);
            checkDecodedType(component, part, place);
            write(part, place);
        }
    }

    /// Writes the number of a class and, the first time, its name.
    ///
    /// @return whether it was the first time
    private boolean writeClassReference(Class<?> type, ValuePath valuePath) {
        Integer known = numbers.putIfAbsent(type, numbers.size());
        if (known != null) {
            byteWriter.varint(known);
            return false;
        }
        if (type.isHidden()) { // it cannot be found by its name
            throw unsupported(type, valuePath);
        }
        byteWriter.varint(numbers.size() - 1L);
        text(type.getName(), valuePath);
        return true;
    }

    private void writeComponents(RecordType type, ValuePath valuePath) {
        byteWriter.varint(type.components().size());
        for (RecordType.Component component : type.components()) {
            text(component.name(), valuePath);
            text(component.type().getName(), valuePath);
        }
    }

    /// Rejects what the constructor would reject on the other rank: an `ArrayList` is decoded as a
    /// `List`, so no component can be declared as `ArrayList`.
    private static void checkDecodedType(
            RecordType.Component component, @Nullable Object part, ValuePath valuePath) {
        if (part == null) {
            return;
        }
        Class<?> arrival =
                switch (part) {
                    case Record _, Enum<?> _ -> part.getClass();
                    case List<?> _ -> List.class;
                    case Set<?> _ -> SequencedSet.class;
                    case Map<?, ?> _ -> SequencedMap.class;
                    default -> part.getClass();
                };
        if (!component.acceptsType(arrival)) {
            throw new CodecException(
                    """
                    %s is declared as a %s, but would arrive as a %s
                    Declare that component of the record as the latter."""
                            .formatted(valuePath, component.type().getName(), arrival.getName()));
        }
    }

    private void optional(Optional<?> value, ValuePath valuePath) {
        if (value.isEmpty()) {
            byteWriter.tag(ValueTag.EMPTY_OPTIONAL);
        } else {
            valuePath.checkDepth();
            byteWriter.tag(ValueTag.OPTIONAL);
            write(value.get(), new ValuePath.Content(valuePath));
        }
    }

    /// Takes the elements as an array, so that their count is right even if another thread adds
    /// one.
    private void elements(ValueTag valueTag, @Nullable Object[] elements, ValuePath valuePath) {
        valuePath.checkDepth();
        byteWriter.tag(valueTag);
        byteWriter.varint(elements.length);
        for (int i = 0; i < elements.length; i++) {
            write(elements[i], new ValuePath.Element(valuePath, i));
        }
    }

    private void map(Map<?, ?> map, ValuePath valuePath) {
        valuePath.checkDepth();
        byteWriter.tag(ValueTag.MAP);
        Object[] entries = map.entrySet().toArray();
        byteWriter.varint(entries.length);
        for (int i = 0; i < entries.length; i++) {
            Map.Entry<?, ?> entry = (Map.Entry<?, ?>) entries[i];
            write(entry.getKey(), new ValuePath.Key(valuePath, i));
            write(entry.getValue(), new ValuePath.Value(valuePath, i, entry.getKey()));
        }
    }

    private static CodecException unsupported(Class<?> type, ValuePath valuePath) {
        return new CodecException(
                """
                cannot send a %s, at %s
                Supported are null, booleans, numbers, characters, strings, primitive arrays, \
                enums, Duration, Instant, Optional, and lists, sets, maps and records of these.
                Send %s instead."""
                        .formatted(
                                type.getTypeName(),
                                valuePath,
                                type.isArray() ? "a list" : "a record of its values"));
    }
}
