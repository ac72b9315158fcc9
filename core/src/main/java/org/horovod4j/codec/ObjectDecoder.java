package org.horovod4j.codec;

import org.jspecify.annotations.Nullable;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.function.BooleanSupplier;

/// Reads one object. Each case of [#read] has its counterpart in [ObjectEncoder].
final class ObjectDecoder {
    /// The initial capacity of a collection, whatever length the bytes claim: false lengths then
    /// cost little memory.
    private static final int FIRST_CAPACITY = 1024;

    /// How many keys of a map, or elements of a set, may have the same hash code. A hash table
    /// compares each of them with all others, unless it can sort them.
    private static final int MAX_EQUAL_HASHES = 1000;

    private static final int MAX_NANOS = 999_999_999;

    private final ByteReader byteReader;
    private final ClassFinder classes;
    private final List<NamedType> types = new ArrayList<>();

    ObjectDecoder(ByteReader byteReader, ClassLoader loader) {
        this.byteReader = byteReader;
        this.classes = new ClassFinder(loader);
    }

    @Nullable Object decode() {
        int version = byteReader.octet();
        if (version != ObjectCodec.VERSION) {
            throw byteReader.corrupt(
                    "its format is %d, but this rank knows format %d"
                            .formatted(version, ObjectCodec.VERSION));
        }
        Object object = read(new ValuePath.Root("object"));
        if (byteReader.remaining() != 0) {
            throw byteReader.corrupt("more follows after the object");
        }
        return object;
    }

    private @Nullable Object read(ValuePath valuePath) {
        return switch (byteReader.tag()) {
            case NULL -> null;
            case FALSE -> false;
            case TRUE -> true;
            case BYTE -> (byte) byteReader.octet();
            case SHORT -> (short) byteReader.signed(Short.MIN_VALUE, Short.MAX_VALUE);
            case INTEGER -> signedInt();
            case LONG -> byteReader.signed(Long.MIN_VALUE, Long.MAX_VALUE);
            case FLOAT -> byteReader.float32();
            case DOUBLE -> byteReader.float64();
            case CHARACTER -> (char) byteReader.boundedVarint(Character.MAX_VALUE);
            case STRING -> byteReader.text();
            case BIG_INTEGER -> byteReader.bigInteger();
            case BIG_DECIMAL -> {
                int scale = signedInt();
                yield new BigDecimal(byteReader.bigInteger(), scale);
            }
            case DURATION -> {
                long seconds = byteReader.signed(Long.MIN_VALUE, Long.MAX_VALUE);
                yield Duration.ofSeconds(seconds, byteReader.boundedVarint(MAX_NANOS));
            }
            case INSTANT -> {
                long seconds =
                        byteReader.signed(
                                Instant.MIN.getEpochSecond(), Instant.MAX.getEpochSecond());
                yield Instant.ofEpochSecond(seconds, byteReader.boundedVarint(MAX_NANOS));
            }
            case BOOLEANS -> byteReader.booleans();
            case BYTES -> byteReader.octets();
            case SHORTS -> byteReader.array(LittleEndianLayouts.SHORT);
            case INTEGERS -> byteReader.array(LittleEndianLayouts.INT);
            case LONGS -> byteReader.array(LittleEndianLayouts.LONG);
            case FLOATS -> byteReader.array(LittleEndianLayouts.FLOAT);
            case DOUBLES -> byteReader.array(LittleEndianLayouts.DOUBLE);
            case CHARACTERS -> byteReader.array(LittleEndianLayouts.CHAR);
            case ENUM -> enumType(valuePath).constant(byteReader.text(), valuePath);
            case RECORD -> record(valuePath);
            case EMPTY_OPTIONAL -> Optional.empty();
            case OPTIONAL -> optional(valuePath);
            case LIST -> list(valuePath);
            case SET -> set(valuePath);
            case MAP -> map(valuePath);
        };
    }

    private int signedInt() {
        return (int) byteReader.signed(Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    private EnumType enumType(ValuePath valuePath) {
        int number = byteReader.boundedVarint(types.size());
        if (number == types.size()) {
            types.add(new EnumType(classes.findEnum(byteReader.text(), valuePath)));
        }
        if (types.get(number) instanceof EnumType type) {
            return type;
        }
        throw byteReader.corrupt("class number %d is not an enum".formatted(number));
    }

    private Object record(ValuePath valuePath) {
        valuePath.checkDepth();
        RecordType type = recordType(valuePath);
        @Nullable Object[] values = new @Nullable Object[type.components().size()];
        for (int i = 0; i < values.length; i++) {
            RecordType.Component component = type.components().get(i);
            ValuePath place = new ValuePath.Component(valuePath, component.name());
            values[i] = read(place);
            if (!component.accepts(values[i])) {
                throw byteReader.corrupt(
                        "%s is a %s and cannot be %s"
                                .formatted(place, component.type().getName(), kind(values[i])));
            }
        }
        return type.create(values, valuePath);
    }

    private RecordType recordType(ValuePath valuePath) {
        int number = byteReader.boundedVarint(types.size());
        if (number == types.size()) {
            RecordType described =
                    RecordType.of(classes.findRecord(byteReader.text(), valuePath), valuePath);
            checkComponents(described, valuePath);
            types.add(described);
        }
        if (types.get(number) instanceof RecordType type) {
            return type;
        }
        throw byteReader.corrupt("class number %d is not a record".formatted(number));
    }

    /// Compares the components of the sender's class with those of ours.
    private void checkComponents(RecordType ours, ValuePath valuePath) {
        int count =
                byteReader.count(
                        2); // of a name and a type, which take a byte each for their length
        int common = Math.min(count, ours.components().size());
        for (int i = 0; i < common; i++) {
            RecordType.Component component = ours.components().get(i);
            String name = byteReader.text();
            String type = byteReader.text();
            if (!name.equals(component.name()) || !type.equals(component.type().getName())) {
                throw differs(
                        ours,
                        valuePath,
                        "component %d is '%s %s' for the sender and '%s %s' here"
                                .formatted(
                                        i + 1,
                                        type,
                                        name,
                                        component.type().getName(),
                                        component.name()));
            }
        }
        if (count > common) {
            String extra = byteReader.text();
            throw differs(ours, valuePath, "this rank has no component '%s'".formatted(extra));
        }
        if (ours.components().size() > common) {
            String extra = ours.components().get(common).name();
            throw differs(ours, valuePath, "the sender has no component '%s'".formatted(extra));
        }
    }

    private static CodecException differs(RecordType type, ValuePath valuePath, String how) {
        return new CodecException(
                """
                the ranks run different versions of the record %s, at %s: %s
                Start every rank with the same class path."""
                        .formatted(type.type().getName(), valuePath, how));
    }

    private Optional<Object> optional(ValuePath valuePath) {
        valuePath.checkDepth();
        Object content = read(new ValuePath.Content(valuePath));
        if (content == null) {
            throw byteReader.corrupt("%s holds null".formatted(valuePath));
        }
        return Optional.of(content);
    }

    private List<@Nullable Object> list(ValuePath valuePath) {
        valuePath.checkDepth();
        int count = byteReader.count(1);
        List<@Nullable Object> elements = new ArrayList<>(Math.min(count, FIRST_CAPACITY));
        for (int i = 0; i < count; i++) {
            elements.add(read(new ValuePath.Element(valuePath, i)));
        }
        return Collections.unmodifiableList(elements);
    }

    private SequencedSet<@Nullable Object> set(ValuePath valuePath) {
        valuePath.checkDepth();
        int count = byteReader.count(1);
        SequencedSet<@Nullable Object> elements =
                LinkedHashSet.newLinkedHashSet(Math.min(count, FIRST_CAPACITY));
        HashCounts hashes = new HashCounts();
        for (int i = 0; i < count; i++) {
            ValuePath place = new ValuePath.Element(valuePath, i);
            Object element = read(place);
            hashes.count(element, place);
            if (!hashOrFail(place, () -> elements.add(element))) {
                throw byteReader.corrupt("%s is in the set already".formatted(place));
            }
        }
        return Collections.unmodifiableSequencedSet(elements);
    }

    private SequencedMap<@Nullable Object, @Nullable Object> map(ValuePath valuePath) {
        valuePath.checkDepth();
        int count = byteReader.count(2);
        SequencedMap<@Nullable Object, @Nullable Object> entries =
                LinkedHashMap.newLinkedHashMap(Math.min(count, FIRST_CAPACITY));
        HashCounts hashes = new HashCounts();
        for (int i = 0; i < count; i++) {
            ValuePath place = new ValuePath.Key(valuePath, i);
            Object key = read(place);
            Object value = read(new ValuePath.Value(valuePath, i, key));
            hashes.count(key, place);
            if (hashOrFail(place, () -> entries.containsKey(key))) {
                throw byteReader.corrupt("%s is in the map already".formatted(place));
            }
            entries.put(key, value);
        }
        return Collections.unmodifiableSequencedMap(entries);
    }

    /// The keys of a map or the elements of a set by their hash codes. Without a limit, a few
    /// kilobytes of lists that share one would cost seconds.
    private final class HashCounts {
        private final Map<Integer, Integer> counts = new HashMap<>();

        void count(@Nullable Object key, ValuePath place) {
            if (key == null || isSortedByHashTables(key)) {
                return;
            }
            if (hashOrFail(place, () -> add(key.hashCode()) > MAX_EQUAL_HASHES)) {
                throw byteReader.corrupt(
                        "%s is one of more than %d keys with the same hash code"
                                .formatted(place, MAX_EQUAL_HASHES));
            }
        }

        private int add(int hash) {
            int count = counts.getOrDefault(hash, 0) + 1;
            counts.put(hash, count);
            return count;
        }

        /// The JDK's own values. The class of a record may compare as it likes.
        private static boolean isSortedByHashTables(Object key) {
            return key instanceof Comparable && !(key instanceof Record);
        }
    }

    /// Runs what calls `hashCode` and `equals` of a value, which are the program's own for a
    /// record.
    private static boolean hashOrFail(ValuePath valuePath, BooleanSupplier lookup) {
        try {
            return lookup.getAsBoolean();
        } catch (RuntimeException e) {
            throw new CodecException(
                    "cannot hash or compare the value at %s: %s".formatted(valuePath, e), e);
        }
    }

    private static String kind(@Nullable Object value) {
        return value == null ? "null" : "a " + value.getClass().getName();
    }
}
