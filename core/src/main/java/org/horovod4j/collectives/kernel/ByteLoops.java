package org.horovod4j.collectives.kernel;

import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// Combines and scales `int8` and `uint8`.
///
/// Sums and products have the same bits for both. Only comparisons, scaling and division depend on
/// the sign.
final class ByteLoops {
    private ByteLoops() {}

    /// One element at a time.
    static final class Scalar {
        private static final ValueLayout.OfByte LAYOUT = ValueLayout.JAVA_BYTE;

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

        static KernelLoop ofUnsigned(ReduceOp op) {
            return switch (op) {
                case SUM, AVERAGE -> Scalar::sum;
                case PRODUCT -> Scalar::product;
                case MIN -> Scalar::unsignedMin;
                case MAX -> Scalar::unsignedMax;
                case ADASUM -> throw KernelLoop.unsupported(op);
            };
        }

        static void sum(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i++) {
                target.set(LAYOUT, i, (byte) (left.get(LAYOUT, i) + right.get(LAYOUT, i)));
            }
        }

        static void product(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i++) {
                target.set(LAYOUT, i, (byte) (left.get(LAYOUT, i) * right.get(LAYOUT, i)));
            }
        }

        static void min(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i++) {
                target.set(LAYOUT, i, (byte) Math.min(left.get(LAYOUT, i), right.get(LAYOUT, i)));
            }
        }

        static void max(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i++) {
                target.set(LAYOUT, i, (byte) Math.max(left.get(LAYOUT, i), right.get(LAYOUT, i)));
            }
        }

        static void unsignedMin(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i++) {
                int a = Byte.toUnsignedInt(left.get(LAYOUT, i));
                int b = Byte.toUnsignedInt(right.get(LAYOUT, i));
                target.set(LAYOUT, i, (byte) Math.min(a, b));
            }
        }

        static void unsignedMax(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i++) {
                int a = Byte.toUnsignedInt(left.get(LAYOUT, i));
                int b = Byte.toUnsignedInt(right.get(LAYOUT, i));
                target.set(LAYOUT, i, (byte) Math.max(a, b));
            }
        }

        static void scale(MemorySegment values, double factor) {
            for (long i = 0; i < values.byteSize(); i++) {
                long scaled = (long) (values.get(LAYOUT, i) * factor);
                values.set(LAYOUT, i, (byte) Math.clamp(scaled, Byte.MIN_VALUE, Byte.MAX_VALUE));
            }
        }

        static void unsignedScale(MemorySegment values, double factor) {
            for (long i = 0; i < values.byteSize(); i++) {
                long scaled = (long) (Byte.toUnsignedInt(values.get(LAYOUT, i)) * factor);
                values.set(LAYOUT, i, (byte) Math.clamp(scaled, 0, 0xff));
            }
        }

        static void divide(MemorySegment values, long divisor) {
            for (long i = 0; i < values.byteSize(); i++) {
                values.set(LAYOUT, i, (byte) (values.get(LAYOUT, i) / divisor));
            }
        }

        static void unsignedDivide(MemorySegment values, long divisor) {
            for (long i = 0; i < values.byteSize(); i++) {
                values.set(LAYOUT, i, (byte) (Byte.toUnsignedInt(values.get(LAYOUT, i)) / divisor));
            }
        }
    }

    /// As many elements at a time as the machine's vectors hold; the scalar variant processes the
    /// rest.
    static final class Vector {
        private static final VectorSpecies<Byte> SPECIES = ByteVector.SPECIES_PREFERRED;
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

        static KernelLoop ofUnsigned(ReduceOp op) {
            return switch (op) {
                case SUM, AVERAGE -> Vector::sum;
                case PRODUCT -> Vector::product;
                case MIN -> Vector::unsignedMin;
                case MAX -> Vector::unsignedMax;
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

        static void unsignedMin(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            long end = end(target, from);
            for (long i = from; i < end; i += STEP) {
                store(load(left, i).lanewise(VectorOperators.UMIN, load(right, i)), target, i);
            }
            Scalar.unsignedMin(target, left, right, end);
        }

        static void unsignedMax(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            long end = end(target, from);
            for (long i = from; i < end; i += STEP) {
                store(load(left, i).lanewise(VectorOperators.UMAX, load(right, i)), target, i);
            }
            Scalar.unsignedMax(target, left, right, end);
        }

        private static ByteVector load(MemorySegment segment, long offset) {
            return ByteVector.fromMemorySegment(SPECIES, OffHeap.cast(segment), offset, ORDER);
        }

        private static void store(ByteVector vector, MemorySegment segment, long offset) {
            vector.intoMemorySegment(OffHeap.cast(segment), offset, ORDER);
        }

        /// The end of the last whole vector.
        private static long end(MemorySegment segment, long from) {
            return segment.byteSize() - (segment.byteSize() - from) % STEP;
        }
    }
}
