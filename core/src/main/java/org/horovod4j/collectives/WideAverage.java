package org.horovod4j.collectives;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.spi.FusedTensors;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Consumer;

/// Averages integers in a wider type: the average fits in their own type, but the sum may not.
///
/// | type                                | summed as |
/// |-------------------------------------|-----------|
/// | `int8`, `uint8`, `int16`, `uint16`  | `int32`   |
/// | `int32`                             | `int64`   |
///
/// A sum of `int64` has no wider type. Costs two copies, and two to four times the bytes; averages
/// of floats and all other reductions cost nothing more.
final class WideAverage {
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;

    private static final int CACHE_LINE = 64;

    private WideAverage() {}

    /// Whether the sum needs a wider type.
    static boolean appliesTo(DataType dataType, ReduceOp op) {
        return op == ReduceOp.AVERAGE && wider(dataType) != dataType;
    }

    /// Calls `reduce` with wider copies of the tensors, and copies its results back.
    static void run(
            FusedTensors fusedTensors, ScratchMemory memory, Consumer<FusedTensors> reduce) {
        DataType wide = wider(fusedTensors.dataType());
        FusedTensors copies = fusedTensors.withDataType(wide);
        setMemory(copies, fusedTensors, memory);
        for (int i = 0; i < copies.tensorCount(); i++) {
            widen(fusedTensors.dataType(), fusedTensors.input(i), copies.input(i));
        }
        reduce.accept(copies);
        for (int i = 0; i < copies.tensorCount(); i++) {
            narrow(fusedTensors.dataType(), copies.output(i), fusedTensors.output(i));
        }
    }

    /// Sets the memory of the copies. An output that is the whole tensor is its input.
    private static void setMemory(
            FusedTensors copies, FusedTensors fusedTensors, ScratchMemory memory) {
        int ratio = copies.dataType().byteSize() / fusedTensors.dataType().byteSize();
        long total = 0;
        for (int i = 0; i < copies.tensorCount(); i++) {
            total += aligned(ratio * fusedTensors.input(i).byteSize());
            total +=
                    isWhole(fusedTensors, i)
                            ? 0
                            : aligned(ratio * fusedTensors.output(i).byteSize());
        }
        MemorySegment all = memory.wideCopies(total);
        long next = 0;
        for (int i = 0; i < copies.tensorCount(); i++) {
            MemorySegment input = all.asSlice(next, ratio * fusedTensors.input(i).byteSize());
            next += aligned(input.byteSize());
            MemorySegment output = input;
            if (!isWhole(fusedTensors, i)) {
                output = all.asSlice(next, ratio * fusedTensors.output(i).byteSize());
                next += aligned(output.byteSize());
            }
            copies.set(i, input, output);
        }
    }

    private static boolean isWhole(FusedTensors tensors, int index) {
        return tensors.output(index).byteSize() == tensors.input(index).byteSize();
    }

    /// The next multiple of the size of a cache line, on which kernels work best.
    private static long aligned(long byteSize) {
        return (byteSize + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    }

    private static DataType wider(DataType dataType) {
        return switch (dataType) {
            case UINT8, INT8, UINT16, INT16 -> DataType.INT32;
            case INT32 -> DataType.INT64;
            case INT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64, BOOL -> dataType;
        };
    }

    private static void widen(DataType dataType, MemorySegment source, MemorySegment target) {
        long count = source.byteSize() / dataType.byteSize();
        for (long i = 0; i < count; i++) {
            switch (dataType) {
                case UINT8 -> target.set(INT, 4 * i, byteAt(source, i) & 0xff);
                case INT8 -> target.set(INT, 4 * i, byteAt(source, i));
                case UINT16 -> target.set(INT, 4 * i, source.get(SHORT, 2 * i) & 0xffff);
                case INT16 -> target.set(INT, 4 * i, source.get(SHORT, 2 * i));
                case INT32 -> target.set(LONG, 8 * i, source.get(INT, 4 * i));
                case INT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64, BOOL -> throw notWidened(dataType);
            }
        }
    }

    /// A scale may have made the average larger than its type: it is then clamped, as scaled
    /// integers always are.
    private static void narrow(DataType dataType, MemorySegment source, MemorySegment target) {
        long count = target.byteSize() / dataType.byteSize();
        for (long i = 0; i < count; i++) {
            switch (dataType) {
                case UINT8 -> setByte(target, i, Math.clamp(source.get(INT, 4 * i), 0, 0xff));
                case INT8 ->
                        setByte(
                                target,
                                i,
                                Math.clamp(source.get(INT, 4 * i), Byte.MIN_VALUE, Byte.MAX_VALUE));
                case UINT16 -> setShort(target, i, Math.clamp(source.get(INT, 4 * i), 0, 0xffff));
                case INT16 ->
                        setShort(
                                target,
                                i,
                                Math.clamp(
                                        source.get(INT, 4 * i), Short.MIN_VALUE, Short.MAX_VALUE));
                case INT32 ->
                        target.set(
                                INT,
                                4 * i,
                                Math.clamp(
                                        source.get(LONG, 8 * i),
                                        Integer.MIN_VALUE,
                                        Integer.MAX_VALUE));
                case INT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64, BOOL -> throw notWidened(dataType);
            }
        }
    }

    private static byte byteAt(MemorySegment memory, long index) {
        return memory.get(ValueLayout.JAVA_BYTE, index);
    }

    private static void setByte(MemorySegment memory, long index, int value) {
        memory.set(ValueLayout.JAVA_BYTE, index, (byte) value);
    }

    private static void setShort(MemorySegment memory, long index, int value) {
        memory.set(SHORT, 2 * index, (short) value);
    }

    private static IllegalArgumentException notWidened(DataType dataType) {
        return new IllegalArgumentException("%s has no wider type".formatted(dataType));
    }
}
