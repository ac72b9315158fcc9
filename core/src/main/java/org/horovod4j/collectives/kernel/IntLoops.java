package org.horovod4j.collectives.kernel;

import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorSpecies;

import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// Combines and scales `int32`.
final class IntLoops {
    private IntLoops() {}

    /// One element at a time.
    static final class Scalar {
        private static final ValueLayout.OfInt LAYOUT = ValueLayout.JAVA_INT_UNALIGNED;

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
            for (long i = from; i < target.byteSize(); i += Integer.BYTES) {
                target.set(LAYOUT, i, left.get(LAYOUT, i) + right.get(LAYOUT, i));
            }
        }

        static void product(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Integer.BYTES) {
                target.set(LAYOUT, i, left.get(LAYOUT, i) * right.get(LAYOUT, i));
            }
        }

        static void min(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Integer.BYTES) {
                target.set(LAYOUT, i, Math.min(left.get(LAYOUT, i), right.get(LAYOUT, i)));
            }
        }

        static void max(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Integer.BYTES) {
                target.set(LAYOUT, i, Math.max(left.get(LAYOUT, i), right.get(LAYOUT, i)));
            }
        }

        static void scale(MemorySegment values, double factor) {
            for (long i = 0; i < values.byteSize(); i += Integer.BYTES) {
                values.set(LAYOUT, i, (int) (values.get(LAYOUT, i) * factor));
            }
        }

        static void divide(MemorySegment values, long divisor) {
            for (long i = 0; i < values.byteSize(); i += Integer.BYTES) {
                values.set(LAYOUT, i, (int) (values.get(LAYOUT, i) / divisor));
            }
        }
    }

    /// As many elements at a time as the machine's vectors hold; the scalar variant processes the
    /// rest.
    static final class Vector {
        private static final VectorSpecies<Integer> SPECIES = IntVector.SPECIES_PREFERRED;
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

        private static IntVector load(MemorySegment segment, long offset) {
            return IntVector.fromMemorySegment(SPECIES, OffHeap.cast(segment), offset, ORDER);
        }

        private static void store(IntVector vector, MemorySegment segment, long offset) {
            vector.intoMemorySegment(OffHeap.cast(segment), offset, ORDER);
        }

        /// The end of the last whole vector.
        private static long end(MemorySegment segment, long from) {
            return segment.byteSize() - (segment.byteSize() - from) % STEP;
        }
    }
}
