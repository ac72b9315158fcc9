package org.horovod4j.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.AbstractThrowableAssert;
import org.horovod4j.codec.SampleObjects.Empty;
import org.horovod4j.codec.SampleObjects.Pair;
import org.horovod4j.codec.SampleObjects.Phase;
import org.horovod4j.testsupport.ByteFuzzer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.charset.CharacterCodingException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Decodes bytes that are malformed, or that another version of a program wrote.
class MalformedBytesTest {
    private final ObjectCodec codec = new ObjectCodec();

    @Test
    void bytesOfAnotherLengthAreRefused() {
        fuzzer().runOtherLengths();
    }

    @Test
    void corruptedBytesGiveAValueOrCodecException() {
        assertThat(fuzzer().run(ByteFuzzer.SHORT)).isGreaterThan(ByteFuzzer.SHORT / 2);
    }

    @Test
    @Tag("slow")
    void manyCorruptedBytesAreDecodedOrRefused() {
        assertThat(fuzzer().run(ByteFuzzer.LONG)).isPositive();
    }

    private ByteFuzzer fuzzer() {
        return new ByteFuzzer(
                "ObjectCodec",
                SampleObjects.many().stream().map(codec::encode).toList(),
                codec::decode,
                CodecException.class);
    }

    @ParameterizedTest
    @EnumSource(
            names = {
                "STRING",
                "BIG_INTEGER",
                "BOOLEANS",
                "BYTES",
                "SHORTS",
                "INTEGERS",
                "LONGS",
                "FLOATS",
                "DOUBLES",
                "CHARACTERS",
                "LIST",
                "SET",
                "MAP"
            })
    void lengthBeyondInputAllocatesNoMemory(ValueTag valueTag) {
        for (long length : new long[] {100, Integer.MAX_VALUE, 1L << 40, Long.MAX_VALUE, -1}) {
            decoding(
                            byteWriter -> {
                                byteWriter.tag(valueTag);
                                byteWriter.varint(length);
                            })
                    .hasMessageContaining("elements are announced where 0 bytes are left");
        }
    }

    @Test
    void nestedOversizedLengthsAllocateLittleMemory() {
        int room = 50_000_000; // 60 lists of this length would allocate 12 GB
        decoding(
                        byteWriter -> {
                            for (int level = 0; level < 60; level++) {
                                byteWriter.tag(ValueTag.LIST);
                                byteWriter.varint(room);
                            }
                            byteWriter.tag(ValueTag.BYTES);
                            byteWriter.octets(new byte[room]);
                        })
                .hasMessageContaining("ends too early");
    }

    @Test
    void decodingLimitsDepth() {
        decoding(
                        byteWriter -> {
                            for (int level = 0; level < 100_000; level++) {
                                byteWriter.tag(ValueTag.OPTIONAL);
                            }
                        })
                .hasMessageContaining("deeper than 64 levels");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2, 255})
    void unknownVersionIsRejected(int version) {
        assertThatThrownBy(() -> codec.decode(new byte[] {(byte) version, 0}))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining("its format is %d", version)
                .hasMessageContaining("same version of Horovod4J");
    }

    @Test
    void trailingBytesAreRejected() {
        decoding(
                        byteWriter -> {
                            byteWriter.tag(ValueTag.TRUE);
                            byteWriter.tag(ValueTag.TRUE);
                        })
                .hasMessageContaining("more follows");
    }

    private static final AtomicBoolean INITIALISED = new AtomicBoolean();

    private static final class Trap {
        static {
            INITIALISED.set(true);
        }

        private Trap() {}
    }

    @ParameterizedTest
    @EnumSource(names = {"RECORD", "ENUM"})
    void otherClassesAreRejectedWithoutInitialisation(ValueTag valueTag) {
        decoding(
                        byteWriter -> {
                            byteWriter.tag(valueTag);
                            byteWriter.varint(0);
                            byteWriter.text(Trap.class.getName());
                            byteWriter.varint(0);
                        })
                .hasMessageContaining("Trap, at object, is a")
                .hasMessageContaining("for the sender but not here");
        assertThat(INITIALISED).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "../etc/passwd", "a\0b", "int", "[I", "no.such.Class", "."})
    void unknownClassNameIsRejected(String name) {
        decoding(
                byteWriter -> {
                    byteWriter.tag(ValueTag.RECORD);
                    byteWriter.varint(0);
                    byteWriter.text(name);
                });
    }

    @Test
    void componentTypeMismatchIsReported() {
        describing(Pair.class, "first", "int", "second", "java.lang.Object")
                .hasMessageContaining("different versions of the record " + Pair.class.getName())
                .hasMessageContaining("component 1 is 'int first' for the sender")
                .hasMessageContaining("'java.lang.Object first' here");
    }

    @Test
    void componentNameMismatchIsReported() {
        describing(Pair.class, "first", "java.lang.Object", "last", "java.lang.Object")
                .hasMessageContaining("component 2 is 'java.lang.Object last' for the sender");
    }

    @Test
    void componentMissingHereIsReported() {
        describing(Empty.class, "rate", "double")
                .hasMessageContaining("this rank has no component 'rate'");
    }

    @Test
    void componentMissingAtSenderIsReported() {
        describing(Pair.class, "first", "java.lang.Object")
                .hasMessageContaining("the sender has no component 'second'");
    }

    @Test
    void unknownEnumConstantIsReported() {
        decoding(
                        byteWriter -> {
                            byteWriter.tag(ValueTag.ENUM);
                            byteWriter.varint(0);
                            byteWriter.text(Phase.class.getName());
                            byteWriter.text("COOL_DOWN");
                        })
                .hasMessageContaining("no constant 'COOL_DOWN'")
                .hasMessageContaining("[WARM_UP, TRAIN]");
    }

    record Count(int value) {}

    @Test
    void valueOfWrongTypeIsRejected() {
        for (ValueTag valueTag : new ValueTag[] {ValueTag.NULL, ValueTag.TRUE}) {
            decoding(
                            byteWriter -> {
                                byteWriter.tag(ValueTag.RECORD);
                                byteWriter.varint(0);
                                byteWriter.text(Count.class.getName());
                                byteWriter.varint(1);
                                byteWriter.text("value");
                                byteWriter.text("int");
                                byteWriter.tag(valueTag);
                            })
                    .hasMessageContaining("object.value is a int and cannot be");
        }
    }

    record Unhashable(@Nullable String name) {
        @Override
        public int hashCode() {
            throw new IllegalStateException("no hash");
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }
    }

    @Test
    void unhashableKeyIsRejected() {
        byte[] bytes = codec.encode(List.of(new Unhashable(null)));
        bytes[1] = (byte) ValueTag.SET.code();
        assertThatThrownBy(() -> codec.decode(bytes))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining("cannot hash or compare the value at object[0]");
    }

    @Test
    void duplicateElementsAndKeysAreRejected() {
        byte[] set = codec.encode(List.of("a", "a"));
        set[1] = (byte) ValueTag.SET.code();
        assertThatThrownBy(() -> codec.decode(set))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining("object[1] is in the set already");
        decoding(
                        byteWriter -> {
                            byteWriter.tag(ValueTag.MAP);
                            byteWriter.varint(2);
                            byteWriter.tag(ValueTag.NULL);
                            byteWriter.tag(ValueTag.NULL);
                            byteWriter.tag(ValueTag.NULL);
                            byteWriter.tag(ValueTag.TRUE);
                        })
                .hasMessageContaining("object.key[1] is in the map already");
    }

    /// A hash table compares each such key with all others: 88 kB cost 8 seconds.
    @Test
    void manyKeysWithOneHashCodeAreRejected() {
        Map<Object, Object> few = new LinkedHashMap<>();
        Map<Object, Object> many = new LinkedHashMap<>();
        for (int bits = 0; bits < 2048; bits++) {
            List<Integer> key = listWithHashOfZeros(bits);
            assertThat(key.hashCode()).isEqualTo(listWithHashOfZeros(0).hashCode());
            many.put(key, true);
            if (bits < 1000) {
                few.put(key, true);
            }
        }
        assertThat(codec.decode(codec.encode(few))).isEqualTo(few);
        for (Object object : new Object[] {many, many.keySet()}) {
            byte[] bytes = codec.encode(object);
            assertThatThrownBy(() -> codec.decode(bytes))
                    .isInstanceOf(CodecException.class)
                    .hasMessageContaining("more than 1000 keys with the same hash code");
        }
    }

    /// For each bit two numbers, either 0 and 31 or 1 and 0, which add the same to the hash code.
    private static List<Integer> listWithHashOfZeros(int bits) {
        return IntStream.range(0, 11)
                .boxed()
                .flatMap(bit -> (bits >> bit & 1) == 0 ? Stream.of(0, 31) : Stream.of(1, 0))
                .toList();
    }

    private AbstractThrowableAssert<?, ?> describing(Class<?> type, String... namesAndTypes) {
        return decoding(
                byteWriter -> {
                    byteWriter.tag(ValueTag.RECORD);
                    byteWriter.varint(0);
                    byteWriter.text(type.getName());
                    byteWriter.varint(namesAndTypes.length / 2);
                    for (String text : namesAndTypes) {
                        byteWriter.text(text);
                    }
                });
    }

    /// Expects that decoding fails for the bytes that the script writes after the version.
    private AbstractThrowableAssert<?, ?> decoding(ByteScript byteScript) {
        ByteWriter byteWriter = new ByteWriter();
        byteWriter.octet(ObjectCodec.VERSION);
        try {
            byteScript.write(byteWriter);
        } catch (CharacterCodingException e) {
            throw new AssertionError(e);
        }
        byte[] bytes = byteWriter.toByteArray();
        return assertThatThrownBy(() -> codec.decode(bytes)).isInstanceOf(CodecException.class);
    }

    private interface ByteScript {
        void write(ByteWriter byteWriter) throws CharacterCodingException;
    }
}
