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

/// Writes one object. Each arm of [#write] has its counterpart in [Decoder].
final class Encoder {
    private final Sink sink = new Sink();
    private final Map<Class<?>, Integer> numbers = new HashMap<>();
    private final Map<Class<?>, RecordType> records = new HashMap<>();

    byte[] encode(@Nullable Object object) {
        sink.octet(ObjectCodec.VERSION);
        write(object, new Path.Root(word(object)));
        return sink.toByteArray();
    }

    /// What errors call the outermost object.
    private static String word(@Nullable Object object) {
        return switch (object) {
            case Record value -> value.getClass().getSimpleName();
            case List<?> _ -> "list";
            case Set<?> _ -> "set";
            case Map<?, ?> _ -> "map";
            case Optional<?> _ -> "optional";
            case null, default -> "object";
        };
    }

    private void write(@Nullable Object object, Path path) {
        switch (object) {
            case null -> sink.tag(Tag.NULL);
            case Boolean value -> sink.tag(value ? Tag.TRUE : Tag.FALSE);
            case Byte value -> {
                sink.tag(Tag.BYTE);
                sink.octet(value);
            }
            case Short value -> signed(Tag.SHORT, value);
            case Integer value -> signed(Tag.INTEGER, value);
            case Long value -> signed(Tag.LONG, value);
            case Float value -> {
                sink.tag(Tag.FLOAT);
                sink.float32(value);
            }
            case Double value -> {
                sink.tag(Tag.DOUBLE);
                sink.float64(value);
            }
            case Character value -> {
                sink.tag(Tag.CHARACTER);
                sink.varint(value);
            }
            case String value -> {
                sink.tag(Tag.STRING);
                text(value, path);
            }
            case BigInteger value -> array(Tag.BIG_INTEGER, value.toByteArray(), Layouts.BYTE);
            case BigDecimal value -> {
                signed(Tag.BIG_DECIMAL, value.scale());
                sink.octets(value.unscaledValue().toByteArray());
            }
            case Duration value -> {
                signed(Tag.DURATION, value.getSeconds());
                sink.varint(value.getNano());
            }
            case Instant value -> {
                signed(Tag.INSTANT, value.getEpochSecond());
                sink.varint(value.getNano());
            }
            case boolean[] values -> {
                sink.tag(Tag.BOOLEANS);
                sink.booleans(values);
            }
            case byte[] values -> array(Tag.BYTES, values, Layouts.BYTE);
            case short[] values -> array(Tag.SHORTS, values, Layouts.SHORT);
            case int[] values -> array(Tag.INTEGERS, values, Layouts.INT);
            case long[] values -> array(Tag.LONGS, values, Layouts.LONG);
            case float[] values -> array(Tag.FLOATS, values, Layouts.FLOAT);
            case double[] values -> array(Tag.DOUBLES, values, Layouts.DOUBLE);
            case char[] values -> array(Tag.CHARACTERS, values, Layouts.CHAR);
            // Records and enums come before the interfaces that one of them might implement.
            case Enum<?> value -> enumeration(value, path);
            case Record value -> record(value, path);
            case Optional<?> value -> optional(value, path);
            case List<?> values -> elements(Tag.LIST, values.toArray(), path);
            case Set<?> values -> elements(Tag.SET, values.toArray(), path);
            case Map<?, ?> values -> map(values, path);
            default -> throw refused(object.getClass(), path);
        }
    }

    private void signed(Tag tag, long value) {
        sink.tag(tag);
        sink.signed(value);
    }

    private void array(Tag tag, Object array, ValueLayout element) {
        sink.tag(tag);
        sink.array(array, element);
    }

    private void text(String value, Path path) {
        try {
            sink.text(value);
        } catch (CharacterCodingException e) {
            throw new CodecException(
                    """
                    the string at %s is not Unicode text: half of a surrogate pair stands alone
                    Send it as a char[], or mend it."""
                            .formatted(path),
                    e);
        }
    }

    private void enumeration(Enum<?> value, Path path) {
        sink.tag(Tag.ENUM);
        // Not getClass(): a constant with a body has a class of its own.
        introduce(value.getDeclaringClass(), path);
        text(value.name(), path);
    }

    private void record(Record value, Path path) {
        path.checkDepth();
        sink.tag(Tag.RECORD);
        boolean isNew = introduce(value.getClass(), path);
        RecordType type =
                records.computeIfAbsent(value.getClass(), absent -> RecordType.of(absent, path));
        if (isNew) {
            describe(type, path);
        }
        for (RecordType.Component component : type.components()) {
            Path place = new Path.Component(path, component.name());
            Object part = component.read(value, place);
            checkArrival(component, part, place);
            write(part, place);
        }
    }

    /// Writes the number of a class and, the first time, its name.
    ///
    /// @return whether it was the first time
    private boolean introduce(Class<?> type, Path path) {
        Integer known = numbers.putIfAbsent(type, numbers.size());
        if (known != null) {
            sink.varint(known);
            return false;
        }
        if (type.isHidden()) { // its name leads nowhere
            throw refused(type, path);
        }
        sink.varint(numbers.size() - 1L);
        text(type.getName(), path);
        return true;
    }

    private void describe(RecordType type, Path path) {
        sink.varint(type.components().size());
        for (RecordType.Component component : type.components()) {
            text(component.name(), path);
            text(component.type().getName(), path);
        }
    }

    /// Refuses here what the constructor would refuse there: an `ArrayList` arrives as a `List`, so
    /// it cannot go where an `ArrayList` is declared.
    private static void checkArrival(
            RecordType.Component component, @Nullable Object part, Path path) {
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
        if (!component.acceptsA(arrival)) {
            throw new CodecException(
                    """
                    %s is declared as a %s, but would arrive as a %s
                    Declare that component of the record as the latter."""
                            .formatted(path, component.type().getName(), arrival.getName()));
        }
    }

    private void optional(Optional<?> value, Path path) {
        if (value.isEmpty()) {
            sink.tag(Tag.EMPTY_OPTIONAL);
        } else {
            path.checkDepth();
            sink.tag(Tag.OPTIONAL);
            write(value.get(), new Path.Content(path));
        }
    }

    /// The elements come as an array, so that their count stays true if another thread adds one.
    private void elements(Tag tag, @Nullable Object[] elements, Path path) {
        path.checkDepth();
        sink.tag(tag);
        sink.varint(elements.length);
        for (int i = 0; i < elements.length; i++) {
            write(elements[i], new Path.Element(path, i));
        }
    }

    private void map(Map<?, ?> map, Path path) {
        path.checkDepth();
        sink.tag(Tag.MAP);
        Object[] entries = map.entrySet().toArray();
        sink.varint(entries.length);
        for (int i = 0; i < entries.length; i++) {
            Map.Entry<?, ?> entry = (Map.Entry<?, ?>) entries[i];
            write(entry.getKey(), new Path.Key(path, i));
            write(entry.getValue(), new Path.Value(path, i, entry.getKey()));
        }
    }

    private static CodecException refused(Class<?> type, Path path) {
        return new CodecException(
                """
                cannot send a %s, at %s
                What may travel: null, booleans, numbers, characters, strings, primitive arrays, \
                enums, Duration, Instant, Optional, and lists, sets, maps and records of these.
                Send %s instead."""
                        .formatted(
                                type.getTypeName(),
                                path,
                                type.isArray() ? "a list" : "a record of its values"));
    }
}
