package org.horovod4j.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.codec.SampleObjects.Empty;
import org.horovod4j.codec.SampleObjects.Pair;
import org.horovod4j.codec.SampleObjects.Phase;
import org.horovod4j.codec.SampleObjects.Schedule;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.NullSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

class ObjectCodecTest {
    private final ObjectCodec codec = new ObjectCodec();

    static Stream<Object> values() {
        return Stream.of(
                true,
                false,
                (byte) -128,
                (short) -32768,
                0,
                -1,
                Integer.MIN_VALUE,
                Integer.MAX_VALUE,
                Long.MIN_VALUE,
                Long.MAX_VALUE,
                -0.0f,
                Float.NaN,
                Float.POSITIVE_INFINITY,
                Double.NaN,
                Double.MIN_VALUE,
                '\0',
                '\uFFFF',
                "",
                "naïve 漢字 🐎 \0",
                BigInteger.ZERO,
                BigInteger.ONE.shiftLeft(1000).negate(),
                new BigDecimal("1.500"),
                new BigDecimal(BigInteger.TEN, Integer.MIN_VALUE),
                Duration.ofSeconds(Long.MIN_VALUE),
                Duration.ofSeconds(Long.MAX_VALUE, 999_999_999),
                Instant.MIN,
                Instant.MAX,
                new boolean[] {true, false},
                new byte[0],
                new byte[] {1, -1},
                new short[] {1, Short.MIN_VALUE},
                new int[] {1, Integer.MIN_VALUE, 3},
                new long[] {Long.MAX_VALUE},
                new float[] {Float.NaN, -0.0f},
                new double[] {Double.MIN_VALUE},
                new char[] {'a', '\uD800'},
                Phase.WARM_UP,
                Phase.TRAIN,
                Optional.empty(),
                Optional.of(Optional.of("inner")),
                List.of(),
                Arrays.asList(1, null, "three", List.of(4L)),
                SampleObjects.setOf("z", "a", null),
                SampleObjects.wideMap(10_007),
                new Empty(),
                new Pair<>(new Pair<>(1, 2.0), new Pair<>("left", null)),
                new Schedule.Steps(List.of(30), 0.1, new Schedule.Constant(1)),
                SampleObjects.everything());
    }

    @ParameterizedTest
    @NullSource
    @MethodSource("values")
    void encodedValueDecodesToEqualValue(@Nullable Object value) {
        assertThat(copy(value)).isEqualTo(value);
    }

    @Test
    void nativeMemoryIsDecoded() {
        byte[] bytes = codec.encode(SampleObjects.everything());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment segment = arena.allocate(bytes.length + 1L).asSlice(1);
            segment.copyFrom(MemorySegment.ofArray(bytes));
            assertThat(codec.decode(segment)).isEqualTo(SampleObjects.everything());
        }
    }

    @Test
    void nanBitsArePreserved() {
        float odd = Float.intBitsToFloat(0x7FC0_1234);
        assertThat(copy(odd))
                .isInstanceOfSatisfying(
                        Float.class,
                        it -> assertThat(Float.floatToRawIntBits(it)).isEqualTo(0x7FC0_1234));
    }

    @Test
    void setsAndMapsKeepTheirOrder() {
        assertThat((Iterable<?>) copy(SampleObjects.setOf(3, 1, 2))).hasToString("[3, 1, 2]");
        assertThat(copy(new TreeMap<>(Map.of("b", 1, "a", 2)))).hasToString("{a=2, b=1}");
    }

    @Test
    void decodedCollectionsAreUnmodifiable() {
        assertThat((List<?>) copy(new ArrayList<>(List.of(1)))).isUnmodifiable();
        assertThat(copy(Map.of(1, 2)))
                .isInstanceOfSatisfying(
                        Map.class,
                        map ->
                                assertThatThrownBy(map::clear)
                                        .isInstanceOf(UnsupportedOperationException.class));
    }

    @Test
    void classIsDescribedOnce() {
        int one = codec.encode(List.of(new Pair<>(1, 1))).length;
        int hundred = codec.encode(Collections.nCopies(100, new Pair<>(1, 1))).length;
        assertThat(hundred - one).isEqualTo(99 * 6);
    }

    @Test
    void nestingDepthIsLimitedTo64() {
        assertThat(copy(nested(64))).isEqualTo(nested(64));
        assertThatThrownBy(() -> codec.encode(nested(65)))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining("deeper than 64 levels, at list[0][0][0]");
    }

    @Test
    void selfContainingListIsRejected() {
        List<Object> list = new ArrayList<>();
        list.add(list);
        assertThatThrownBy(() -> codec.encode(list))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining("contain itself");
    }

    @Test
    void unsupportedValueIsReportedWithItsPath() {
        Object lambda = (Runnable) () -> {};
        Object config = new Pair<>("weights", Map.of("layer", Optional.of(lambda)));
        assertThatThrownBy(() -> codec.encode(List.of(1, 2, 3, config)))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining(lambda.getClass().getTypeName())
                .hasMessageContaining("at list[3].second[\"layer\"].get()")
                .hasMessageContaining("lists, sets, maps and records");
    }

    @Test
    void plainObjectIsRejected() {
        assertThatThrownBy(() -> codec.encode(new Pair<>(0, new Thread())))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining("cannot send a java.lang.Thread, at Pair.second")
                .hasMessageContaining("a record of its values");
    }

    @Test
    void objectArrayIsRejected() {
        assertThatThrownBy(() -> codec.encode(new String[] {"a"}))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining("java.lang.String[], at object")
                .hasMessageContaining("Send a list");
    }

    @Test
    void malformedUnicodeStringIsRejected() {
        assertThatThrownBy(() -> codec.encode(Map.of(1, "half \uD83D")))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining("map[1]")
                .hasMessageContaining("surrogate");
    }

    private record Concrete(ArrayList<Integer> steps) {}

    @Test
    void incompatibleComponentTypeIsRejectedOnEncode() {
        assertThatThrownBy(() -> codec.encode(new Concrete(new ArrayList<>())))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining("Concrete.steps is declared as a java.util.ArrayList")
                .hasMessageContaining("java.util.List");
    }

    private record Positive(int value) {
        Positive {
            if (value <= 0) {
                throw new IllegalArgumentException("not positive: " + value);
            }
        }
    }

    @Test
    void recordConstructorValidatesDecodedValues() {
        byte[] bytes = codec.encode(List.of(new Positive(1)));
        bytes[bytes.length - 1] = 0;
        assertThatThrownBy(() -> codec.decode(bytes))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining("Positive rejected its values at object[0]")
                .hasMessageContaining("not positive: 0")
                .hasCauseInstanceOf(IllegalArgumentException.class);
    }

    record Failing(int value) {
        @Override
        public int value() {
            throw new IllegalStateException("not ready");
        }
    }

    @Test
    void failingAccessorIsReported() {
        assertThatThrownBy(() -> codec.encode(new Failing(1)))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining("accessor failed at Failing.value")
                .hasCauseInstanceOf(IllegalStateException.class);
    }

    @Test
    void recordInClosedModuleIsRejectedWithMissingOpens() {
        Object closed = Collectors.toList(); // a record in a package that the JDK does not open
        assertThatThrownBy(() -> codec.encode(Optional.of(closed)))
                .isInstanceOf(CodecException.class)
                .hasMessageContaining("CollectorImpl, at optional.get(), is closed")
                .hasMessageContaining("'opens java.util.stream;' to the module-info of java.base")
                .hasMessageContaining("--add-opens java.base/java.util.stream=ALL-UNNAMED");
    }

    private @Nullable Object copy(@Nullable Object object) {
        return codec.decode(codec.encode(object));
    }

    private static Object nested(int levels) {
        Object object = List.of();
        for (int i = 1; i < levels; i++) {
            object = List.of(object);
        }
        return object;
    }
}
