package org.horovod4j.collectives.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.DataType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Locale;
import java.util.Random;
import java.util.function.LongUnaryOperator;
import java.util.stream.LongStream;

/// The effect of AVERAGE and the scale factors on tensors.
class ScaleAndDivideTest {
    private static final long SEED = 20_250_919;

    /// A whole vector of every type, several blocks, and a remainder.
    private static final int COUNT = 10_007;

    private static final Kernels[] TWINS = {Kernels.scalar(), Kernels.vector(), Kernels.best()};

    /// A change of `count` elements from byte `offset` on.
    private interface Change {
        void apply(Kernels kernels, MemorySegment values, long offset, long count);
    }

    @ParameterizedTest(name = "{0} {1} / {2} = {3}")
    @CsvSource({
        "int8,    49,   49,   1",
        "int8,    -7,   2,    -3",
        "int8,    -128, 3,    -42",
        "uint8,   255,  2,    127",
        "uint8,   200,  300,  0",
        "int16,   -7,   2,    -3",
        "uint16,  65535, 4,   16383",
        "int32,   -7,   4,    -1",
        "int32,   49,   49,   1",
        "int32,   -2147483648, 2, -1073741824",
        "int64,   49,   49,   1",
        "int64,   -9223372036854775807, 2, -4611686018427387903",
    })
    void integersDivideExactlyTowardZero(String dataType, long value, long divisor, long quotient) {
        DataType type = DataType.valueOf(dataType.toUpperCase(Locale.ROOT));
        assertEverywhere(
                type,
                value,
                (kernels, values, offset, count) ->
                        kernels.divide(type, values, offset, count, divisor),
                quotient);
    }

    @ParameterizedTest(name = "{0} {1} * {2} = {3}")
    @CsvSource({
        "int8,    -7,   0.5,  -3",
        "int8,    100,  2,    127",
        "int8,    -100, 2,    -128",
        "uint8,   200,  0.5,  100",
        "uint8,   200,  -1,   0",
        "uint16,  65535, 0.5, 32767",
        "uint16,  65535, 2,   65535",
        "int16,   -30000, 2,  -32768",
        "int32,   -7,   0.5,  -3",
        "int32,   2147483647, 2, 2147483647",
        "int64,   -7,   1.5,  -10",
        "int64,   9007199254740992, 0.5, 4503599627370496",
    })
    void integersScaleAsDoublesAndTruncate(
            String dataType, long value, double factor, long scaled) {
        DataType type = DataType.valueOf(dataType.toUpperCase(Locale.ROOT));
        assertEverywhere(
                type,
                value,
                (kernels, values, offset, count) ->
                        kernels.scale(type, values, offset, count, factor),
                scaled);
    }

    @ParameterizedTest(name = "{0}, seed " + SEED)
    @EnumSource(names = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64"})
    void floatsDivideInTheirOwnPrecision(DataType dataType) {
        for (long divisor : new long[] {1, 2, 3, 49}) {
            assertRandom(
                    dataType,
                    (kernels, values, offset, count) ->
                            kernels.divide(dataType, values, offset, count, divisor),
                    element ->
                            dataType == DataType.FLOAT64
                                    ? RawElements.of(
                                            dataType,
                                            RawElements.value(dataType, element) / divisor)
                                    : Reference.round(
                                            dataType,
                                            (float) RawElements.value(dataType, element)
                                                    / divisor));
        }
    }

    @ParameterizedTest(name = "{0}, seed " + SEED)
    @EnumSource(names = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64"})
    void floatsScaleInTheirOwnPrecision(DataType dataType) {
        for (double factor : new double[] {1, 0.1, -3, 1e30}) {
            assertRandom(
                    dataType,
                    (kernels, values, offset, count) ->
                            kernels.scale(dataType, values, offset, count, factor),
                    element ->
                            dataType == DataType.FLOAT64
                                    ? RawElements.of(
                                            dataType, RawElements.value(dataType, element) * factor)
                                    : Reference.round(
                                            dataType,
                                            (float) RawElements.value(dataType, element)
                                                    * (float) factor));
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "BOOL")
    void zeroElementsChangeNothing(DataType dataType) {
        for (Kernels kernels : TWINS) {
            kernels.scale(dataType, MemorySegment.NULL, 0, 0, 2);
            kernels.divide(dataType, MemorySegment.NULL, 0, 0, 2);
        }
    }

    @Test
    void boolRejectsScaleAndDivide() {
        for (Kernels kernels : TWINS) {
            assertThatThrownBy(() -> kernels.scale(DataType.BOOL, MemorySegment.NULL, 0, 0, 2))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("bool cannot be scaled");
            assertThatThrownBy(() -> kernels.divide(DataType.BOOL, MemorySegment.NULL, 0, 0, 2))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("bool cannot be averaged");
        }
    }

    @Test
    void divisorBelowOneIsRejected() {
        assertThatThrownBy(() -> Kernels.best().divide(DataType.INT32, MemorySegment.NULL, 0, 0, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at least 1 rank");
    }

    /// Checks that an array of `value` becomes an array of `expected`.
    private static void assertEverywhere(
            DataType dataType, long value, Change change, long expected) {
        long[] before = LongStream.generate(() -> value).limit(COUNT).toArray();
        for (Kernels kernels : TWINS) {
            assertThat(LongStream.of(changed(kernels, dataType, before, change)))
                    .extracting(element -> RawElements.integer(dataType, element))
                    .containsOnly(expected);
        }
    }

    private static void assertRandom(DataType dataType, Change change, LongUnaryOperator expected) {
        long[] before = RawElements.random(dataType, COUNT, new Random(SEED));
        long[] after = LongStream.of(before).map(expected).toArray();
        for (Kernels kernels : TWINS) {
            assertThat(
                            RawElements.withCanonicalNaN(
                                    dataType, changed(kernels, dataType, before, change)))
                    .isEqualTo(RawElements.withCanonicalNaN(dataType, after));
        }
    }

    private static long[] changed(
            Kernels kernels, DataType dataType, long[] elements, Change change) {
        long offset = 3;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment values =
                    arena.allocate(offset + (long) elements.length * dataType.byteSize());
            RawElements.setAll(dataType, values, offset, elements);
            change.apply(kernels, values, offset, elements.length);
            return RawElements.getAll(dataType, values, offset, elements.length);
        }
    }
}
