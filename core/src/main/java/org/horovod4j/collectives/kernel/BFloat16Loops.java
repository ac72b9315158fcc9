package org.horovod4j.collectives.kernel;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// Combines `bfloat16` as `float`, and converts between the two.
///
/// A `bfloat16` is the upper half of a `float`. To round to nearest, ties to even, add half of the
/// last place that is kept, less one bit if that place is even, and cut off the lower half. The
/// carry into the exponent is correct, up to infinity. A NaN must not be rounded: it is made quiet
/// instead. Otherwise a payload in the lower half would leave an infinity.
final class BFloat16Loops {
    private static final int ALMOST_HALF = 0x7fff;
    private static final int QUIET = 0x0040_0000;

    private BFloat16Loops() {}

    /// One element at a time.
    static final class Scalar implements HalfConverter {
        private static final ValueLayout.OfShort LAYOUT = ValueLayout.JAVA_SHORT_UNALIGNED;

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
            widen(source, values, 0);
        }

        /// Processes the elements from index `first` on.
        static void widen(MemorySegment source, float[] values, int first) {
            int count = (int) (source.byteSize() / Short.BYTES);
            for (int i = first; i < count; i++) {
                values[i] = get(source, (long) i * Short.BYTES);
            }
        }

        @Override
        public void narrow(float[] values, MemorySegment target) {
            narrow(values, target, 0);
        }

        /// Processes the elements from index `first` on.
        static void narrow(float[] values, MemorySegment target, int first) {
            int count = (int) (target.byteSize() / Short.BYTES);
            for (int i = first; i < count; i++) {
                set(target, (long) i * Short.BYTES, values[i]);
            }
        }

        private static float get(MemorySegment segment, long offset) {
            return Float.intBitsToFloat(segment.get(LAYOUT, offset) << 16);
        }

        private static void set(MemorySegment segment, long offset, float value) {
            int bits = Float.floatToRawIntBits(value);
            int rounded =
                    Float.isNaN(value) ? bits | QUIET : bits + ALMOST_HALF + (bits >>> 16 & 1);
            segment.set(LAYOUT, offset, (short) (rounded >>> 16));
        }
    }

    /// As many pairs of elements at a time as the machine's vectors hold; the scalar variant
    /// processes the rest.
    ///
    /// Two adjacent elements are loaded as one `int`. Each half becomes a `float` by shifting or
    /// masking, which is cheaper than widening and narrowing whole vectors.
    static final class Vector implements HalfConverter {
        private static final VectorSpecies<Integer> PAIRS = IntVector.SPECIES_PREFERRED;
        private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
        private static final int STEP = PAIRS.vectorByteSize();
        private static final ByteOrder ORDER = ByteOrder.nativeOrder();
        private static final int UPPER_HALF = 0xffff_0000;

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
                IntVector a = load(left, i);
                IntVector b = load(right, i);
                FloatVector upper = upper(a).add(upper(b));
                FloatVector lower = lower(a).add(lower(b));
                store(pairs(upper, lower), target, i);
            }
            Scalar.sum(target, left, right, end);
        }

        static void product(
                MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            long end = end(target, from);
            for (long i = from; i < end; i += STEP) {
                IntVector a = load(left, i);
                IntVector b = load(right, i);
                FloatVector upper = upper(a).mul(upper(b));
                FloatVector lower = lower(a).mul(lower(b));
                store(pairs(upper, lower), target, i);
            }
            Scalar.product(target, left, right, end);
        }

        static void min(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            long end = end(target, from);
            for (long i = from; i < end; i += STEP) {
                IntVector a = load(left, i);
                IntVector b = load(right, i);
                FloatVector upper = upper(a).min(upper(b));
                FloatVector lower = lower(a).min(lower(b));
                store(pairs(upper, lower), target, i);
            }
            Scalar.min(target, left, right, end);
        }

        static void max(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            long end = end(target, from);
            for (long i = from; i < end; i += STEP) {
                IntVector a = load(left, i);
                IntVector b = load(right, i);
                FloatVector upper = upper(a).max(upper(b));
                FloatVector lower = lower(a).max(lower(b));
                store(pairs(upper, lower), target, i);
            }
            Scalar.max(target, left, right, end);
        }

        /// Widens a vector of pairs to two vectors of floats: first all upper halves, then all
        /// lower halves.
        @Override
        public void widen(MemorySegment source, float[] values) {
            long end = end(source, 0);
            for (long i = 0; i < end; i += STEP) {
                int at = (int) (i / Short.BYTES);
                IntVector pairs = load(source, i);
                upper(pairs).intoArray(values, at);
                lower(pairs).intoArray(values, at + FLOATS.length());
            }
            Scalar.widen(source, values, (int) (end / Short.BYTES));
        }

        @Override
        public void narrow(float[] values, MemorySegment target) {
            long end = end(target, 0);
            for (long i = 0; i < end; i += STEP) {
                int at = (int) (i / Short.BYTES);
                FloatVector upper = FloatVector.fromArray(FLOATS, values, at);
                FloatVector lower = FloatVector.fromArray(FLOATS, values, at + FLOATS.length());
                store(pairs(upper, lower), target, i);
            }
            Scalar.narrow(values, target, (int) (end / Short.BYTES));
        }

        private static FloatVector upper(IntVector pairs) {
            return pairs.and(UPPER_HALF).reinterpretAsFloats();
        }

        private static FloatVector lower(IntVector pairs) {
            return pairs.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats();
        }

        private static IntVector pairs(FloatVector upper, FloatVector lower) {
            return rounded(upper)
                    .and(UPPER_HALF)
                    .or(rounded(lower).lanewise(VectorOperators.LSHR, 16));
        }

        /// The bits whose upper half is the nearest `bfloat16` of each value.
        private static IntVector rounded(FloatVector values) {
            IntVector bits = values.reinterpretAsInts();
            IntVector odd = bits.lanewise(VectorOperators.LSHR, 16).and(1);
            return bits.add(ALMOST_HALF)
                    .add(odd)
                    .blend(bits.or(QUIET), values.compare(VectorOperators.NE, values).cast(PAIRS));
        }

        private static IntVector load(MemorySegment segment, long offset) {
            return IntVector.fromMemorySegment(PAIRS, OffHeap.cast(segment), offset, ORDER);
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
