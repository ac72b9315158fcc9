package org.horovod4j.compression;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.kernel.HalfArrays;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// An allreduce that sends floats of four or eight bytes as floats of two bytes.
///
/// It sends half the bytes of `float32` and a quarter of `float64`. It costs one pass over the tensor
/// before the allreduce and one after.
final class CastAllreduce {
    /// Elements converted at a time, which fit into the first-level cache.
    private static final int BLOCK = 2048;

    private static final int MAX_ARRAY_LENGTH = Integer.MAX_VALUE - 8;

    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED;
    private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;
    private static final ValueLayout.OfDouble DOUBLE = ValueLayout.JAVA_DOUBLE_UNALIGNED;

    private CastAllreduce() {}

    static Handle<Tensor> allreduceAsync(
            Communicator communicator,
            String name,
            Tensor tensor,
            ReduceOp op,
            Compression compression) {
        DataType narrow = compression.wireType(tensor.dataType()).orElseThrow();
        if (narrow == tensor.dataType()) {
            return communicator.allreduceAsync(name, tensor, op);
        }
        if (!tensor.device().isHost()) { // its backend converts
            return communicator.allreduceAsync(
                    name, tensor, AllreduceOptions.of(op).withCompressor(compression));
        }
        return communicator
                .allreduceAsync(name, narrow(tensor, narrow), op)
                .thenApply(reduced -> widen(reduced, tensor));
    }

    private static Tensor narrow(Tensor source, DataType dataType) {
        Tensor target = Tensor.of(memory(source.elementCount()), dataType, source.shape());
        boolean isDouble = source.dataType() == DataType.FLOAT64;
        double[] doubles = new double[isDouble ? BLOCK : 0];
        float[] wide = new float[BLOCK];
        short[] narrow = new short[BLOCK];
        for (long at = 0; at < source.elementCount(); at += BLOCK) {
            int count = (int) Math.min(BLOCK, source.elementCount() - at);
            if (isDouble) {
                MemorySegment.copy(source.segment(), DOUBLE, at * Double.BYTES, doubles, 0, count);
                narrow(doubles, wide, count);
            } else {
                MemorySegment.copy(source.segment(), FLOAT, at * Float.BYTES, wide, 0, count);
            }
            HalfArrays.narrow(dataType, wide, narrow, count);
            MemorySegment.copy(narrow, 0, target.segment(), SHORT, at * Short.BYTES, count);
        }
        return target;
    }

    /// An array where one is long enough: unlike native memory it costs the collector nothing.
    private static MemorySegment memory(long elementCount) {
        return elementCount <= MAX_ARRAY_LENGTH
                ? MemorySegment.ofArray(new short[(int) elementCount])
                : Arena.ofAuto().allocate(elementCount * Short.BYTES, Short.BYTES);
    }

    private static Tensor widen(Tensor source, Tensor target) {
        boolean isDouble = target.dataType() == DataType.FLOAT64;
        double[] doubles = new double[isDouble ? BLOCK : 0];
        float[] wide = new float[BLOCK];
        short[] narrow = new short[BLOCK];
        for (long at = 0; at < source.elementCount(); at += BLOCK) {
            int count = (int) Math.min(BLOCK, source.elementCount() - at);
            MemorySegment.copy(source.segment(), SHORT, at * Short.BYTES, narrow, 0, count);
            HalfArrays.widen(source.dataType(), narrow, wide, count);
            if (isDouble) {
                widen(wide, doubles, count);
                MemorySegment.copy(doubles, 0, target.segment(), DOUBLE, at * Double.BYTES, count);
            } else {
                MemorySegment.copy(wide, 0, target.segment(), FLOAT, at * Float.BYTES, count);
            }
        }
        return target;
    }

    private static void narrow(double[] wide, float[] narrow, int count) {
        for (int i = 0; i < count; i++) {
            narrow[i] = (float) wide[i];
        }
    }

    private static void widen(float[] narrow, double[] wide, int count) {
        for (int i = 0; i < count; i++) {
            wide[i] = narrow[i];
        }
    }
}
