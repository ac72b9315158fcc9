package org.horovod4j.collectives.kernel;

import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// Combines and scales `int16` and `uint16`.
///
/// Sums and products have the same bits for both. Only comparisons, scaling and division depend on
/// the sign.
final class ShortLoops {
    private ShortLoops() {}

    /// One element at a time.
    static final class Scalar {
        private static final ValueLayout.OfShort LAYOUT = ValueLayout.JAVA_SHORT_UNALIGNED;

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
            for (long i = from; i < target.byteSize(); i += Short.BYTES) {
                target.set(LAYOUT, i, (short) (left.get(LAYOUT, i) + right.get(LAYOUT, i)));
            }
        }

        static void product(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Short.BYTES) {
                target.set(LAYOUT, i, (short) (left.get(LAYOUT, i) * right.get(LAYOUT, i)));
            }
        }

        static void min(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Short.BYTES) {
                target.set(LAYOUT, i, (short) Math.min(left.get(LAYOUT, i), right.get(LAYOUT, i)));
            }
        }

        static void max(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Short.BYTES) {
                target.set(LAYOUT, i, (short) Math.max(left.get(LAYOUT, i), right.get(LAYOUT, i)));
            }
        }

        static void unsignedMin(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Short.BYTES) {
                int a = Short.toUnsignedInt(left.get(LAYOUT, i));
                int b = Short.toUnsignedInt(right.get(LAYOUT, i));
                target.set(LAYOUT, i, (short) Math.min(a, b));
            }
        }

        static void unsignedMax(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i += Short.BYTES) {
                int a = Short.toUnsignedInt(left.get(LAYOUT, i));
                int b = Short.toUnsignedInt(right.get(LAYOUT, i));
                target.set(LAYOUT, i, (short) Math.max(a, b));
            }
        }

        static void scale(MemorySegment values, double factor) {
            for (long i = 0; i < values.byteSize(); i += Short.BYTES) {
                long scaled = (long) (values.get(LAYOUT, i) * factor);
                values.set(LAYOUT, i, (short) Math.clamp(scaled, Short.MIN_VALUE, Short.MAX_VALUE));
            }
        }

        static void unsignedScale(MemorySegment values, double factor) {
            for (long i = 0; i < values.byteSize(); i += Short.BYTES) {
                long scaled = (long) (Short.toUnsignedInt(values.get(LAYOUT, i)) * factor);
                values.set(LAYOUT, i, (short) Math.clamp(scaled, 0, 0xffff));
            }
        }

        static void divide(MemorySegment values, long divisor) {
            for (long i = 0; i < values.byteSize(); i += Short.BYTES) {
                values.set(LAYOUT, i, (short) (values.get(LAYOUT, i) / divisor));
            }
        }

        static void unsignedDivide(MemorySegment values, long divisor) {
            for (long i = 0; i < values.byteSize(); i += Short.BYTES) {
                values.set(
                        LAYOUT, i, (short) (Short.toUnsignedInt(values.get(LAYOUT, i)) / divisor));
            }
        }
    }

    /// As many elements at a time as the machine's vectors hold; the scalar variant processes the
    /// rest.
    static final class Vector {
        private static final VectorSpecies<Short> SPECIES = ShortVector.SPECIES_PREFERRED;
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

        private static ShortVector load(MemorySegment segment, long offset) {
            return ShortVector.fromMemorySegment(SPECIES, OffHeap.cast(segment), offset, ORDER);
        }

        private static void store(ShortVector vector, MemorySegment segment, long offset) {
            vector.intoMemorySegment(OffHeap.cast(segment), offset, ORDER);
        }

        /// The end of the last whole vector.
        private static long end(MemorySegment segment, long from) {
            return segment.byteSize() - (segment.byteSize() - from) % STEP;
        }
    }
}
