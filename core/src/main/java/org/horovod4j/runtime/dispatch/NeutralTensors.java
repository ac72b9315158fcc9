package org.horovod4j.runtime.dispatch;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Tensors that do not change a result: the contribution of a rank that has joined.
final class NeutralTensors {
    private static final short HALF_ONE = Float.floatToFloat16(1);
    private static final short HALF_INFINITY = Float.floatToFloat16(Float.POSITIVE_INFINITY);
    private static final short BFLOAT_ONE = 0x3f80;
    private static final short BFLOAT_INFINITY = 0x7f80;
    private static final short SIGN = (short) 0x8000;

    private NeutralTensors() {}

    /// Zeros for sums, ones for products, the greatest value for minima, the least for maxima.
    static Tensor of(DataType dataType, Shape shape, ReduceOp op) {
        Tensor tensor = Tensor.zeros(dataType, shape);
        switch (op) {
            case SUM, AVERAGE, ADASUM -> {}
            case PRODUCT, MIN, MAX -> fill(tensor, op);
        }
        return tensor;
    }

    private static void fill(Tensor tensor, ReduceOp op) {
        MemorySegment memory = tensor.segment();
        long count = tensor.elementCount();
        boolean product = op == ReduceOp.PRODUCT;
        boolean least = op == ReduceOp.MAX;
        switch (tensor.dataType()) {
            case BOOL -> memory.fill((byte) (least ? 0 : 1));
            case UINT8 -> memory.fill((byte) (product ? 1 : least ? 0 : 0xff));
            case INT8 -> memory.fill(product ? 1 : least ? Byte.MIN_VALUE : Byte.MAX_VALUE);
            case UINT16 -> shorts(memory, count, (short) (product ? 1 : least ? 0 : 0xffff));
            case INT16 ->
                    shorts(memory, count, product ? 1 : least ? Short.MIN_VALUE : Short.MAX_VALUE);
            case FLOAT16 ->
                    shorts(memory, count, product ? HALF_ONE : signed(HALF_INFINITY, least));
            case BFLOAT16 ->
                    shorts(memory, count, product ? BFLOAT_ONE : signed(BFLOAT_INFINITY, least));
            case INT32 -> {
                int value = product ? 1 : least ? Integer.MIN_VALUE : Integer.MAX_VALUE;
                for (long i = 0; i < count; i++) {
                    memory.setAtIndex(ValueLayout.JAVA_INT_UNALIGNED, i, value);
                }
            }
            case INT64 -> {
                long value = product ? 1 : least ? Long.MIN_VALUE : Long.MAX_VALUE;
                for (long i = 0; i < count; i++) {
                    memory.setAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, i, value);
                }
            }
            case FLOAT32 -> {
                float infinity = least ? Float.NEGATIVE_INFINITY : Float.POSITIVE_INFINITY;
                for (long i = 0; i < count; i++) {
                    memory.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, product ? 1 : infinity);
                }
            }
            case FLOAT64 -> {
                double infinity = least ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
                for (long i = 0; i < count; i++) {
                    memory.setAtIndex(ValueLayout.JAVA_DOUBLE_UNALIGNED, i, product ? 1 : infinity);
                }
            }
        }
    }

    private static short signed(short value, boolean negative) {
        return (short) (negative ? value | SIGN : value);
    }

    private static void shorts(MemorySegment memory, long count, short value) {
        for (long i = 0; i < count; i++) {
            memory.setAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, i, value);
        }
    }
}
