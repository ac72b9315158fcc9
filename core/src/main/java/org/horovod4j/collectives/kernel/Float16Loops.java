package org.horovod4j.collectives.kernel;

import static java.lang.Float.float16ToFloat;
import static java.lang.Float.floatToFloat16;

import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Combines `float16` as `float`, and converts between the two.
final class Float16Loops {
    private static final ValueLayout.OfShort LAYOUT = ValueLayout.JAVA_SHORT_UNALIGNED;

    private Float16Loops() {}

    /// One element at a time.
    static final class Scalar implements HalfConverter {
        static KernelLoop of(ReduceOp op) {
            return switch (op) {
                case SUM, AVERAGE -> Scalar::sum;
                case PRODUCT -> Scalar::product;
                case MIN -> Scalar::min;
                case MAX -> Scalar::max;
                case ADASUM -> throw KernelLoop.unsupported(op);
            };
        }

        static void sum(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Short.BYTES) {
                set(target, i, get(left, i) + get(right, i));
            }
        }

        static void product(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Short.BYTES) {
                set(target, i, get(left, i) * get(right, i));
            }
        }

        static void min(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Short.BYTES) {
                set(target, i, Math.min(get(left, i), get(right, i)));
            }
        }

        static void max(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Short.BYTES) {
                set(target, i, Math.max(get(left, i), get(right, i)));
            }
        }

        @Override
        public void widen(MemorySegment source, float[] values) {
            for (long i = 0; i < source.byteSize(); i += Short.BYTES) {
                values[(int) (i / Short.BYTES)] = get(source, i);
            }
        }

        @Override
        public void narrow(float[] values, MemorySegment target) {
            for (long i = 0; i < target.byteSize(); i += Short.BYTES) {
                set(target, i, values[(int) (i / Short.BYTES)]);
            }
        }

        private static float get(MemorySegment segment, long offset) {
            return float16ToFloat(segment.get(LAYOUT, offset));
        }

        private static void set(MemorySegment segment, long offset, float value) {
            segment.set(LAYOUT, offset, floatToFloat16(value));
        }
    }

    /// Processes blocks in heap arrays.
    ///
    /// The Vector API does not support `float16` yet, but the compiler vectorizes the conversions
    /// below if the loop runs over heap arrays. That is three times as fast, despite two copies.
    static final class Vector implements HalfConverter {
        private final short[] lefts;
        private final short[] rights;

        Vector(KernelScratch kernelScratch) {
            this.lefts = kernelScratch.lefts;
            this.rights = kernelScratch.rights;
        }

        KernelLoop of(ReduceOp op) {
            return (target, left, right, from) -> {
                long byteSize = target.byteSize();
                for (long i = from; i < byteSize; i += Short.BYTES * (long) lefts.length) {
                    int count = (int) Math.min(lefts.length, (byteSize - i) / Short.BYTES);
                    MemorySegment.copy(left, LAYOUT, i, lefts, 0, count);
                    MemorySegment.copy(right, LAYOUT, i, rights, 0, count);
                    switch (op) {
                        case SUM, AVERAGE -> sum(lefts, rights, count);
                        case PRODUCT -> product(lefts, rights, count);
                        case MIN -> min(lefts, rights, count);
                        case MAX -> max(lefts, rights, count);
                        case ADASUM -> throw KernelLoop.unsupported(op);
                    }
                    MemorySegment.copy(lefts, 0, target, LAYOUT, i, count);
                }
            };
        }

        private static void sum(short[] left, short[] right, int count) {
            for (int i = 0; i < count; i++) {
                left[i] = floatToFloat16(float16ToFloat(left[i]) + float16ToFloat(right[i]));
            }
        }

        private static void product(short[] left, short[] right, int count) {
            for (int i = 0; i < count; i++) {
                left[i] = floatToFloat16(float16ToFloat(left[i]) * float16ToFloat(right[i]));
            }
        }

        private static void min(short[] left, short[] right, int count) {
            for (int i = 0; i < count; i++) {
                float least = Math.min(float16ToFloat(left[i]), float16ToFloat(right[i]));
                left[i] = floatToFloat16(least);
            }
        }

        private static void max(short[] left, short[] right, int count) {
            for (int i = 0; i < count; i++) {
                float greatest = Math.max(float16ToFloat(left[i]), float16ToFloat(right[i]));
                left[i] = floatToFloat16(greatest);
            }
        }

        @Override
        public void widen(MemorySegment source, float[] values) {
            int count = (int) (source.byteSize() / Short.BYTES);
            MemorySegment.copy(source, LAYOUT, 0, lefts, 0, count);
            widen(lefts, values, count);
        }

        private static void widen(short[] narrow, float[] wide, int count) {
            for (int i = 0; i < count; i++) {
                wide[i] = float16ToFloat(narrow[i]);
            }
        }

        @Override
        public void narrow(float[] values, MemorySegment target) {
            int count = (int) (target.byteSize() / Short.BYTES);
            narrow(values, lefts, count);
            MemorySegment.copy(lefts, 0, target, LAYOUT, 0, count);
        }

        private static void narrow(float[] wide, short[] narrow, int count) {
            for (int i = 0; i < count; i++) {
                narrow[i] = floatToFloat16(wide[i]);
            }
        }
    }
}
