package org.horovod4j.collectives.kernel;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// Combines and scales `float32`.
///
/// As in `Math.min` and `Math.max`, the result of a comparison with NaN is NaN, and -0 is less than
/// 0.
final class FloatLoops {
    private FloatLoops() {}

    /// One element at a time.
    static final class Scalar {
        private static final ValueLayout.OfFloat LAYOUT = ValueLayout.JAVA_FLOAT_UNALIGNED;

        private Scalar() {}

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
            for (long i = from; i < target.byteSize(); i += Float.BYTES) {
                target.set(LAYOUT, i, left.get(LAYOUT, i) + right.get(LAYOUT, i));
            }
        }

        static void product(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Float.BYTES) {
                target.set(LAYOUT, i, left.get(LAYOUT, i) * right.get(LAYOUT, i));
            }
        }

        static void min(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Float.BYTES) {
                target.set(LAYOUT, i, Math.min(left.get(LAYOUT, i), right.get(LAYOUT, i)));
            }
        }

        static void max(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Float.BYTES) {
                target.set(LAYOUT, i, Math.max(left.get(LAYOUT, i), right.get(LAYOUT, i)));
            }
        }

        static void multiply(MemorySegment values, float factor) {
            for (long i = 0; i < values.byteSize(); i += Float.BYTES) {
                values.set(LAYOUT, i, values.get(LAYOUT, i) * factor);
            }
        }

        static void divide(MemorySegment values, float divisor) {
            for (long i = 0; i < values.byteSize(); i += Float.BYTES) {
                values.set(LAYOUT, i, values.get(LAYOUT, i) / divisor);
            }
        }
    }

    /// As many elements at a time as the machine's vectors hold; the scalar variant processes the
    /// rest.
    static final class Vector {
        private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
        private static final int STEP = SPECIES.vectorByteSize();
        private static final ByteOrder ORDER = ByteOrder.nativeOrder();

        private Vector() {}

        static KernelLoop of(ReduceOp op) {
            return switch (op) {
                case SUM, AVERAGE -> Vector::sum;
                case PRODUCT -> Vector::product;
                case MIN -> Vector::min;
                case MAX -> Vector::max;
                case ADASUM -> throw KernelLoop.unsupported(op);
            };
        }

        static void sum(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            long end = end(target, from);
            for (long i = from; i < end; i += STEP) {
                store(load(left, i).add(load(right, i)), target, i);
            }
            Scalar.sum(target, left, right, end);
        }

        static void product(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            long end = end(target, from);
            for (long i = from; i < end; i += STEP) {
                store(load(left, i).mul(load(right, i)), target, i);
            }
            Scalar.product(target, left, right, end);
        }

        static void min(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            long end = end(target, from);
            for (long i = from; i < end; i += STEP) {
                store(load(left, i).min(load(right, i)), target, i);
            }
            Scalar.min(target, left, right, end);
        }

        static void max(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            long end = end(target, from);
            for (long i = from; i < end; i += STEP) {
                store(load(left, i).max(load(right, i)), target, i);
            }
            Scalar.max(target, left, right, end);
        }

        static void multiply(MemorySegment values, float factor) {
            long end = end(values, 0);
            for (long i = 0; i < end; i += STEP) {
                store(load(values, i).mul(factor), values, i);
            }
            Scalar.multiply(values.asSlice(end), factor);
        }

        static void divide(MemorySegment values, float divisor) {
            long end = end(values, 0);
            for (long i = 0; i < end; i += STEP) {
                store(load(values, i).div(divisor), values, i);
            }
            Scalar.divide(values.asSlice(end), divisor);
        }

        private static FloatVector load(MemorySegment segment, long offset) {
            return FloatVector.fromMemorySegment(SPECIES, OffHeap.cast(segment), offset, ORDER);
        }

        private static void store(FloatVector vector, MemorySegment segment, long offset) {
            vector.intoMemorySegment(OffHeap.cast(segment), offset, ORDER);
        }

        /// The end of the last whole vector.
        private static long end(MemorySegment segment, long from) {
            return segment.byteSize() - (segment.byteSize() - from) % STEP;
        }
    }
}
