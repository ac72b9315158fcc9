package org.horovod4j.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.collectives.kernel.AdasumKernel;
import org.horovod4j.collectives.kernel.HalfArrays;
import org.horovod4j.collectives.kernel.Kernels;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/// Compares each kernel of the GPU with its CPU kernel in core.
@Tag("gpu")
class CudaKernelsTest {
    private static final int[] LENGTHS = {0, 1, 3, 17, 256, 1009, 100_003};

    private final Random random = new Random(7);
    private final Kernels cpu = Kernels.scalar();
    private final Arena arena = Arena.ofShared();
    private Gpu gpu;

    @BeforeEach
    void open() {
        gpu = Gpu.open();
    }

    @AfterEach
    void close() {
        if (gpu != null) {
            gpu.close();
        }
        arena.close();
    }

    @ParameterizedTest
    @EnumSource
    void reducesLikeTheCpu(DataType dataType) {
        for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT)) {
            for (int sourceCount : new int[] {1, 2, 5}) {
                for (int length : LENGTHS) {
                    MemorySegment[] sources = new MemorySegment[sourceCount];
                    Arrays.setAll(sources, _ -> values(dataType, length));
                    MemorySegment expected = arena.allocate(bytes(dataType, length) + 1);
                    cpu.reduce(
                            dataType,
                            op,
                            expected,
                            0,
                            sources,
                            new long[sourceCount],
                            sourceCount,
                            length);
                    assertSame(
                            dataType,
                            expected.asSlice(0, bytes(dataType, length)),
                            reduced(dataType, op, Scale.NONE, 1, sources, length, 0),
                            "%s of %d sources of %d".formatted(op, sourceCount, length));
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void reducesUnalignedMemory(DataType dataType) {
        int length = 1009;
        MemorySegment[] sources = {values(dataType, length), values(dataType, length)};
        MemorySegment expected = arena.allocate(bytes(dataType, length));
        cpu.reduce(dataType, ReduceOp.SUM, expected, 0, sources, new long[2], 2, length);
        assertSame(
                dataType,
                expected,
                reduced(
                        dataType,
                        ReduceOp.SUM,
                        Scale.NONE,
                        1,
                        sources,
                        length,
                        dataType.byteSize()),
                "shifted by one element");
    }

    /// The sum of small integers is calculated in a wider type, as `WideAverage` does.
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BOOL")
    void averagesAndScalesLikeTheCpu(DataType dataType) {
        int length = 1009;
        Scale scale = new Scale(0.75, 1.5);
        MemorySegment[] sources = new MemorySegment[3];
        Arrays.setAll(sources, _ -> values(dataType, length));
        MemorySegment result = reduced(dataType, ReduceOp.AVERAGE, scale, 3, sources, length, 0);
        if (dataType.isFloatingPoint() || dataType == DataType.INT64) {
            MemorySegment expected = arena.allocate(bytes(dataType, length));
            for (MemorySegment source : sources) {
                cpu.scale(dataType, source, 0, length, scale.prescale());
            }
            cpu.reduce(dataType, ReduceOp.AVERAGE, expected, 0, sources, new long[3], 3, length);
            cpu.divide(dataType, expected, 0, length, 3);
            cpu.scale(dataType, expected, 0, length, scale.postscale());
            assertSame(dataType, expected, result, "average");
            return;
        }
        for (int i = 0; i < length; i++) {
            long sum = 0;
            for (MemorySegment source : sources) {
                sum += (long) (integer(dataType, source, i) * scale.prescale());
            }
            long average = sum / 3;
            long scaled = (long) (average * scale.postscale());
            assertThat(integer(dataType, result, i))
                    .isEqualTo(Math.clamp(scaled, least(dataType), greatest(dataType)));
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BOOL")
    void scalesLikeTheCpu(DataType dataType) {
        for (double factor : new double[] {0.3, -2.0, 1e6}) {
            MemorySegment values = values(dataType, 1009);
            long address = gpu.upload(values);
            gpu.kernels().scale(dataType, address, 1009, factor, gpu.stream());
            MemorySegment result = gpu.download(address, values.byteSize());
            cpu.scale(dataType, values, 0, 1009, factor);
            assertSame(dataType, values, result, "scale by " + factor);
        }
    }

    @Test
    void copiesManyArraysInOneLaunch() {
        List<MemorySegment> sources = new ArrayList<>();
        List<Long> targets = new ArrayList<>();
        CopyBatch batch = gpu.kernels().copies();
        for (int i = 0; i < 500; i++) {
            int length = i % 50 == 0 ? 200_000 + i : random.nextInt(3000);
            int shift = i % 3 == 0 ? 0 : random.nextInt(16);
            MemorySegment source = values(DataType.UINT8, length);
            sources.add(source);
            long from = gpu.allocate(length + 16) + (i % 2 == 0 ? shift : 0);
            gpu.uploadTo(from, source);
            long target = gpu.allocate(length + 16) + shift;
            targets.add(target);
            batch.add(from, target, length);
        }
        batch.run(gpu.stream());
        for (int i = 0; i < sources.size(); i++) {
            MemorySegment copy = gpu.download(targets.get(i), sources.get(i).byteSize());
            assertThat(copy.mismatch(sources.get(i))).as("array %d", i).isEqualTo(-1);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16"})
    void convertsLikeTheCpu(DataType half) {
        int length = 70_001;
        float[] floats = new float[length];
        for (int i = 0; i < length; i++) {
            floats[i] =
                    i % 100 == 0
                            ? special(i)
                            : (float)
                                    (random.nextGaussian() * Math.pow(10, random.nextInt(12) - 6));
        }
        short[] halves = new short[length];
        HalfArrays.narrow(half, floats, halves, length);
        long wide = gpu.upload(MemorySegment.ofArray(floats));
        long narrow = gpu.allocate(length * 2L);
        CopyBatch narrowing = gpu.kernels().conversions(DataType.FLOAT32, half, 1.0);
        narrowing.add(wide, narrow, length);
        narrowing.run(gpu.stream());
        MemorySegment narrowed = gpu.download(narrow, length * 2L);
        assertSame(half, MemorySegment.ofArray(halves), narrowed, "narrowed");

        float[] widened = new float[length];
        HalfArrays.widen(half, narrowed.toArray(JAVA_SHORT_UNALIGNED), widened, length);
        CopyBatch widening = gpu.kernels().conversions(half, DataType.FLOAT32, 1.0);
        widening.add(narrow, wide, length);
        widening.run(gpu.stream());
        assertSame(
                DataType.FLOAT32,
                MemorySegment.ofArray(widened),
                gpu.download(wide, length * 4L),
                "widened");
    }

    @Test
    void fillsElementsOfEverySize() {
        for (int bytes : new int[] {1, 2, 4, 8}) {
            long address = gpu.allocate(1000L * bytes);
            gpu.kernels().fill(address, 1000, bytes, 0x1122_3344_5566_7788L, gpu.stream());
            byte[] result = gpu.download(address, 1000L * bytes).toArray(JAVA_BYTE);
            for (int i = 0; i < result.length; i++) {
                assertThat(result[i]).isEqualTo((byte) (0x88 - 0x11 * (i % bytes)));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64"})
    void adasumHasTheBitsOfTheCpu(DataType dataType) {
        AdasumKernel kernel = new AdasumKernel(cpu);
        for (int length : new int[] {1, 9, 2047, 2048, 2049, 100_003}) {
            MemorySegment left = values(dataType, length);
            MemorySegment right = values(dataType, length);
            assertAdasum(kernel, dataType, left, right, length);
            if (dataType == DataType.FLOAT64) {
                cpu.scale(dataType, left, 0, length, 1e200);
                assertAdasum(kernel, dataType, left, right, length);
                cpu.scale(dataType, right, 0, length, 1e-200);
                assertAdasum(kernel, dataType, left, right, length);
            }
            left.fill((byte) 0);
            assertAdasum(kernel, dataType, left, right, length);
        }
    }

    private void assertAdasum(
            AdasumKernel kernel,
            DataType dataType,
            MemorySegment left,
            MemorySegment right,
            int length) {
        MemorySegment expected = arena.allocate(bytes(dataType, length));
        kernel.combine(
                dataType,
                kernel.products(dataType, left, 0, right, 0, length).weights(),
                expected,
                0,
                left,
                0,
                right,
                0,
                length);
        long target = gpu.upload(left);
        gpu.kernels()
                .adasum(
                        dataType,
                        target,
                        target,
                        gpu.upload(right),
                        length,
                        gpu.allocate(CudaKernels.adasumScratchBytes(length)),
                        gpu.stream());
        assertSame(
                dataType,
                expected,
                gpu.download(target, expected.byteSize()),
                "Adasum of " + length);
    }

    /// @param shift the bytes by which device memory is moved from its alignment
    private MemorySegment reduced(
            DataType dataType,
            ReduceOp op,
            Scale scale,
            int divisor,
            MemorySegment[] sources,
            int length,
            int shift) {
        long[] addresses = new long[sources.length];
        for (int i = 0; i < sources.length; i++) {
            addresses[i] = gpu.allocate(bytes(dataType, length) + shift) + shift;
            gpu.uploadTo(addresses[i], sources[i]);
        }
        // the target is one of the sources
        gpu.kernels()
                .reduce(
                        dataType,
                        op,
                        scale,
                        divisor,
                        addresses[0],
                        addresses,
                        length,
                        gpu.stream());
        return gpu.download(addresses[0], bytes(dataType, length));
    }

    private MemorySegment values(DataType dataType, int length) {
        MemorySegment memory = arena.allocate(Math.max(1, bytes(dataType, length)), 64);
        for (int i = 0; i < length; i++) {
            float value =
                    i % 97 == 0
                            ? special(i / 97 + random.nextInt(8))
                            : (float) random.nextGaussian() * 3;
            switch (dataType) {
                case FLOAT16 ->
                        memory.set(JAVA_SHORT_UNALIGNED, 2L * i, Float.floatToFloat16(value));
                case BFLOAT16 ->
                        memory.set(
                                JAVA_SHORT_UNALIGNED,
                                2L * i,
                                (short) (Float.floatToRawIntBits(value) >>> 16));
                case FLOAT32 -> memory.set(JAVA_FLOAT_UNALIGNED, 4L * i, value);
                case FLOAT64 -> memory.set(JAVA_DOUBLE_UNALIGNED, 8L * i, value);
                case BOOL -> memory.set(JAVA_BYTE, i, (byte) Math.max(0, random.nextInt(5) - 2));
                case UINT8, INT8, UINT16, INT16, INT32, INT64 -> {
                    for (int b = 0; b < dataType.byteSize(); b++) {
                        memory.set(
                                JAVA_BYTE,
                                (long) i * dataType.byteSize() + b,
                                (byte) random.nextInt());
                    }
                }
            }
        }
        return memory.asSlice(0, bytes(dataType, length));
    }

    private static float special(int i) {
        return switch (Math.floorMod(i, 8)) {
            case 0 -> 0f;
            case 1 -> -0f;
            case 2 -> Float.POSITIVE_INFINITY;
            case 3 -> Float.NEGATIVE_INFINITY;
            case 4 -> Float.NaN;
            case 5 -> 1e-40f;
            case 6 -> 65519.9f;
            default -> -1.5f;
        };
    }

    /// Equal bits, but for NaN: its bits have no meaning.
    private static void assertSame(
            DataType dataType, MemorySegment expected, MemorySegment actual, String what) {
        assertThat(actual.byteSize()).isEqualTo(expected.byteSize());
        int size = dataType.byteSize();
        for (long at = expected.mismatch(actual); at >= 0 && at < expected.byteSize(); ) {
            long element = at / size;
            if (!(isNaN(dataType, expected, element) && isNaN(dataType, actual, element))) {
                assertThat(hex(actual, element, size))
                        .as("%s %s, element %d", dataType, what, element)
                        .isEqualTo(hex(expected, element, size));
            }
            long next = (element + 1) * size;
            long more = expected.asSlice(next).mismatch(actual.asSlice(next));
            at = more < 0 ? -1 : next + more;
        }
    }

    private static boolean isNaN(DataType dataType, MemorySegment memory, long element) {
        return switch (dataType) {
            case FLOAT16 ->
                    Float.isNaN(
                            Float.float16ToFloat(memory.get(JAVA_SHORT_UNALIGNED, 2 * element)));
            case BFLOAT16 ->
                    Float.isNaN(
                            Float.intBitsToFloat(
                                    memory.get(JAVA_SHORT_UNALIGNED, 2 * element) << 16));
            case FLOAT32 -> Float.isNaN(memory.get(JAVA_FLOAT_UNALIGNED, 4 * element));
            case FLOAT64 -> Double.isNaN(memory.get(JAVA_DOUBLE_UNALIGNED, 8 * element));
            case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL -> false;
        };
    }

    private static String hex(MemorySegment memory, long element, int size) {
        StringBuilder text = new StringBuilder();
        for (int b = size - 1; b >= 0; b--) {
            text.append("%02x".formatted(memory.get(JAVA_BYTE, element * size + b)));
        }
        return text.toString();
    }

    private static long integer(DataType dataType, MemorySegment memory, int i) {
        return switch (dataType) {
            case UINT8 -> memory.get(JAVA_BYTE, i) & 0xff;
            case INT8 -> memory.get(JAVA_BYTE, i);
            case UINT16 -> memory.get(JAVA_SHORT_UNALIGNED, 2L * i) & 0xffff;
            case INT16 -> memory.get(JAVA_SHORT_UNALIGNED, 2L * i);
            case INT32 -> memory.get(JAVA_INT_UNALIGNED, 4L * i);
            case INT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64, BOOL ->
                    throw new IllegalArgumentException(dataType.toString());
        };
    }

    private static long least(DataType dataType) {
        return switch (dataType) {
            case INT8 -> Byte.MIN_VALUE;
            case INT16 -> Short.MIN_VALUE;
            case INT32 -> Integer.MIN_VALUE;
            case UINT8, UINT16, INT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64, BOOL -> 0;
        };
    }

    private static long greatest(DataType dataType) {
        return (1L << (8 * dataType.byteSize() - (least(dataType) < 0 ? 1 : 0))) - 1;
    }

    private static long bytes(DataType dataType, int length) {
        return (long) length * dataType.byteSize();
    }
}
