package org.horovod4j.collectives.kernel;

import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// Combines `bool`: a value other than 0 is true, and results are 0 or 1.
final class BoolLoops {
    private BoolLoops() {}

    /// One element at a time.
    static final class Scalar {
        private static final ValueLayout.OfByte LAYOUT = ValueLayout.JAVA_BYTE;

        private Scalar() {}

        static KernelLoop of(ReduceOp op) {
            return switch (op) {
                case SUM, AVERAGE, MAX -> Scalar::or;
                case PRODUCT, MIN -> Scalar::and;
                case ADASUM -> throw KernelLoop.unsupported(op);
            };
        }

        static void or(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i++) {
                boolean either = left.get(LAYOUT, i) != 0 || right.get(LAYOUT, i) != 0;
                target.set(LAYOUT, i, (byte) (either ? 1 : 0));
            }
        }

        static void and(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            for (long i = from; i < target.byteSize(); i++) {
                boolean both = left.get(LAYOUT, i) != 0 && right.get(LAYOUT, i) != 0;
                target.set(LAYOUT, i, (byte) (both ? 1 : 0));
            }
        }
    }

    /// As many elements at a time as the machine's vectors hold; the scalar variant processes the
    /// rest.
    ///
    /// For unsigned bytes, `min(value, 1)` is 1 for true and 0 for false, so no lane needs a
    /// branch.
    static final class Vector {
        private static final VectorSpecies<Byte> SPECIES = ByteVector.SPECIES_PREFERRED;
        private static final int STEP = SPECIES.vectorByteSize();
        private static final ByteOrder ORDER = ByteOrder.nativeOrder();

        private Vector() {}

        static KernelLoop of(ReduceOp op) {
            return switch (op) {
                case SUM, AVERAGE, MAX -> Vector::or;
                case PRODUCT, MIN -> Vector::and;
                case ADASUM -> throw KernelLoop.unsupported(op);
            };
        }

        static void or(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            long end = end(target, from);
            for (long i = from; i < end; i += STEP) {
                ByteVector either = load(left, i).or(load(right, i));
                store(truth(either), target, i);
            }
            Scalar.or(target, left, right, end);
        }

        static void and(MemorySegment target, MemorySegment left, MemorySegment right, long from) {
            long end = end(target, from);
            for (long i = from; i < end; i += STEP) {
                ByteVector both = load(left, i).lanewise(VectorOperators.UMIN, load(right, i));
                store(truth(both), target, i);
            }
            Scalar.and(target, left, right, end);
        }

        private static ByteVector truth(ByteVector values) {
            return values.lanewise(VectorOperators.UMIN, (byte) 1);
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
