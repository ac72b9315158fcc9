package org.horovod4j.collectives;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.spi.FusedTensors;

import java.lang.foreign.Arena;
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

    private WideAverage() {}

    /// Whether the sum needs a wider type.
    static boolean appliesTo(DataType dataType, ReduceOp op) {
        return op == ReduceOp.AVERAGE && wider(dataType) != dataType;
    }

    /// Calls `reduce` with wider copies of the tensors, and copies its results back.
    static void run(FusedTensors fusedTensors, Consumer<FusedTensors> reduce) {
        DataType wide = wider(fusedTensors.dataType());
        try (Arena arena = Arena.ofShared()) {
            FusedTensors copies = fusedTensors.withDataType(wide);
            for (int i = 0; i < copies.tensorCount(); i++) {
                MemorySegment input = widen(fusedTensors, i, wide, arena);
                long outputBytes = wideBytes(fusedTensors, fusedTensors.output(i), wide);
                boolean whole = outputBytes == input.byteSize();
                copies.set(i, input, whole ? input : arena.allocate(outputBytes, Long.BYTES));
            }
            reduce.accept(copies);
            for (int i = 0; i < copies.tensorCount(); i++) {
                narrow(copies, i, fusedTensors.dataType(), fusedTensors.output(i));
            }
        }
    }

    private static DataType wider(DataType dataType) {
        return switch (dataType) {
            case UINT8, INT8, UINT16, INT16 -> DataType.INT32;
            case INT32 -> DataType.INT64;
            case INT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64, BOOL -> dataType;
        };
    }

    private static long wideBytes(FusedTensors tensors, MemorySegment memory, DataType wide) {
        return memory.byteSize() / tensors.dataType().byteSize() * wide.byteSize();
    }

    private static MemorySegment widen(
            FusedTensors tensors, int index, DataType wide, Arena arena) {
        MemorySegment source = tensors.input(index);
        MemorySegment target = arena.allocate(wideBytes(tensors, source, wide), Long.BYTES);
        DataType dataType = tensors.dataType();
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
        return target;
    }

    /// A scale may have made the average larger than its type: it is then clamped, as scaled
    /// integers always are.
    private static void narrow(
            FusedTensors copies, int index, DataType dataType, MemorySegment target) {
        MemorySegment source = copies.output(index);
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
