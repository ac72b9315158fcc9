package org.horovod4j.codec;

import org.jspecify.annotations.Nullable;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.function.BooleanSupplier;

/// Reads one object. Each arm of [#read] has its counterpart in [Encoder].
final class Decoder {
    /// Room made for a collection before its elements are seen; nested empty promises then cost
    /// little, and real ones grow into their room.
    private static final int FIRST_CAPACITY = 1024;

    private static final int MAX_NANOS = 999_999_999;

    private final Source source;
    private final ClassFinder classes;
    private final List<NamedType> types = new ArrayList<>();

    Decoder(Source source, ClassLoader loader) {
        this.source = source;
        this.classes = new ClassFinder(loader);
    }

    @Nullable Object decode() {
        int version = source.octet();
        if (version != ObjectCodec.VERSION) {
            throw source.corrupt(
                    "its format is %d, but this rank knows format %d"
                            .formatted(version, ObjectCodec.VERSION));
        }
        Object object = read(new Path.Root("object"));
        if (source.remaining() != 0) {
            throw source.corrupt("more follows after the object");
        }
        return object;
    }

    private @Nullable Object read(Path path) {
        return switch (source.tag()) {
            case NULL -> null;
            case FALSE -> false;
            case TRUE -> true;
            case BYTE -> (byte) source.octet();
            case SHORT -> (short) source.signed(Short.MIN_VALUE, Short.MAX_VALUE);
            case INTEGER -> signedInt();
            case LONG -> source.signed(Long.MIN_VALUE, Long.MAX_VALUE);
            case FLOAT -> source.float32();
            case DOUBLE -> source.float64();
            case CHARACTER -> (char) source.upTo(Character.MAX_VALUE);
            case STRING -> source.text();
            case BIG_INTEGER -> source.bigInteger();
            case BIG_DECIMAL -> {
                int scale = signedInt();
                yield new BigDecimal(source.bigInteger(), scale);
            }
            case DURATION -> {
                long seconds = source.signed(Long.MIN_VALUE, Long.MAX_VALUE);
                yield Duration.ofSeconds(seconds, source.upTo(MAX_NANOS));
            }
            case INSTANT -> {
                long seconds =
                        source.signed(Instant.MIN.getEpochSecond(), Instant.MAX.getEpochSecond());
                yield Instant.ofEpochSecond(seconds, source.upTo(MAX_NANOS));
            }
            case BOOLEANS -> source.booleans();
            case BYTES -> source.octets();
            case SHORTS -> source.array(Layouts.SHORT);
            case INTEGERS -> source.array(Layouts.INT);
            case LONGS -> source.array(Layouts.LONG);
            case FLOATS -> source.array(Layouts.FLOAT);
            case DOUBLES -> source.array(Layouts.DOUBLE);
            case CHARACTERS -> source.array(Layouts.CHAR);
            case ENUM -> enumType(path).constant(source.text(), path);
            case RECORD -> record(path);
            case EMPTY_OPTIONAL -> Optional.empty();
            case OPTIONAL -> optional(path);
            case LIST -> list(path);
            case SET -> set(path);
            case MAP -> map(path);
        };
    }

    private int signedInt() {
        return (int) source.signed(Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    private EnumType enumType(Path path) {
        int number = source.upTo(types.size());
        if (number == types.size()) {
            types.add(new EnumType(classes.findEnum(source.text(), path)));
        }
        if (types.get(number) instanceof EnumType type) {
            return type;
        }
        throw source.corrupt("class number %d is not an enum".formatted(number));
    }

    private Object record(Path path) {
        path.checkDepth();
        RecordType type = recordType(path);
        @Nullable Object[] values = new @Nullable Object[type.components().size()];
        for (int i = 0; i < values.length; i++) {
            RecordType.Component component = type.components().get(i);
            Path place = new Path.Component(path, component.name());
            values[i] = read(place);
            if (!component.accepts(values[i])) {
                throw source.corrupt(
                        "%s is a %s and cannot be %s"
                                .formatted(place, component.type().getName(), kind(values[i])));
            }
        }
        return type.create(values, path);
    }

    private RecordType recordType(Path path) {
        int number = source.upTo(types.size());
        if (number == types.size()) {
            RecordType described = RecordType.of(classes.findRecord(source.text(), path), path);
            checkDescription(described, path);
            types.add(described);
        }
        if (types.get(number) instanceof RecordType type) {
            return type;
        }
        throw source.corrupt("class number %d is not a record".formatted(number));
    }

    /// Holds the components that the sender's class has against those that ours has.
    private void checkDescription(RecordType ours, Path path) {
        int count =
                source.count(2); // of a name and a type, which take a byte each for their length
        int common = Math.min(count, ours.components().size());
        for (int i = 0; i < common; i++) {
            RecordType.Component component = ours.components().get(i);
            String name = source.text();
            String type = source.text();
            if (!name.equals(component.name()) || !type.equals(component.type().getName())) {
                throw differs(
                        ours,
                        path,
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
            String extra = source.text();
            throw differs(ours, path, "its component '%s' is not here".formatted(extra));
        }
        if (ours.components().size() > common) {
            String extra = ours.components().get(common).name();
            throw differs(ours, path, "the sender has no component '%s'".formatted(extra));
        }
    }

    private static CodecException differs(RecordType type, Path path, String how) {
        return new CodecException(
                """
                the ranks run different versions of the record %s, at %s: %s
                Start every rank with the same class path."""
                        .formatted(type.type().getName(), path, how));
    }

    private Optional<Object> optional(Path path) {
        path.checkDepth();
        Object content = read(new Path.Content(path));
        if (content == null) {
            throw source.corrupt("%s holds null".formatted(path));
        }
        return Optional.of(content);
    }

    private List<@Nullable Object> list(Path path) {
        path.checkDepth();
        int count = source.count(1);
        List<@Nullable Object> elements = new ArrayList<>(Math.min(count, FIRST_CAPACITY));
        for (int i = 0; i < count; i++) {
            elements.add(read(new Path.Element(path, i)));
        }
        return Collections.unmodifiableList(elements);
    }

    private SequencedSet<@Nullable Object> set(Path path) {
        path.checkDepth();
        int count = source.count(1);
        SequencedSet<@Nullable Object> elements =
                LinkedHashSet.newLinkedHashSet(Math.min(count, FIRST_CAPACITY));
        for (int i = 0; i < count; i++) {
            Path place = new Path.Element(path, i);
            Object element = read(place);
            if (!hashing(place, () -> elements.add(element))) {
                throw source.corrupt("%s is in the set already".formatted(place));
            }
        }
        return Collections.unmodifiableSequencedSet(elements);
    }

    private SequencedMap<@Nullable Object, @Nullable Object> map(Path path) {
        path.checkDepth();
        int count = source.count(2);
        SequencedMap<@Nullable Object, @Nullable Object> entries =
                LinkedHashMap.newLinkedHashMap(Math.min(count, FIRST_CAPACITY));
        for (int i = 0; i < count; i++) {
            Path place = new Path.Key(path, i);
            Object key = read(place);
            Object value = read(new Path.Value(path, i, key));
            if (hashing(place, () -> entries.containsKey(key))) {
                throw source.corrupt("%s is in the map already".formatted(place));
            }
            entries.put(key, value);
        }
        return Collections.unmodifiableSequencedMap(entries);
    }

    /// Runs what calls `hashCode` and `equals` of a value, which are the program's own for a
    /// record.
    private static boolean hashing(Path path, BooleanSupplier lookup) {
        try {
            return lookup.getAsBoolean();
        } catch (RuntimeException e) {
            throw new CodecException(
                    "cannot hash or compare the value at %s: %s".formatted(path, e), e);
        }
    }

    private static String kind(@Nullable Object value) {
        return value == null ? "null" : "a " + value.getClass().getName();
    }
}
