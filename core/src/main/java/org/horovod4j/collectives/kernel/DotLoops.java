package org.horovod4j.collectives.kernel;

import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.VectorSpecies;

import java.util.Arrays;

/// Three dot products in one pass over two vectors: the hot loop of Adasum. The scalar and the
/// vector variant add the same numbers in the same order, so they give the same bits.
final class DotLoops {
    /// The number of independent sums: element `i` belongs to sum `i % LANES`, whatever the vector
    /// width, so that every machine rounds in the same way.
    static final int LANES = 8;

    private DotLoops() {}

    /// The hot loop of one variant.
    @FunctionalInterface
    interface Loop {
        /// Fills `sums` with [#LANES] sums of `left * right`, then as many of `left * left` and of
        /// `right * right`.
        ///
        /// @param count a multiple of [#LANES]
        void run(double[] left, double[] right, int count, double[] sums);
    }

    /// One element at a time.
    static final class Scalar {
        private Scalar() {}

        static void run(double[] left, double[] right, int count, double[] sums) {
            Arrays.fill(sums, 0);
            for (int i = 0; i < count; i += LANES) {
                for (int lane = 0; lane < LANES; lane++) {
                    double a = left[i + lane];
                    double b = right[i + lane];
                    sums[lane] += a * b;
                    sums[LANES + lane] += a * a;
                    sums[2 * LANES + lane] += b * b;
                }
            }
        }
    }

    /// As many sums at a time as the machine's vectors hold.
    ///
    /// If a vector holds fewer than all sums, there is one pass per vector of sums, over arrays
    /// that stay in the cache. Products are rounded before they are added, as in the scalar
    /// variant, although machines could fuse both.
    static final class Vector {
        private static final VectorSpecies<Double> SPECIES =
                DoubleVector.SPECIES_PREFERRED.length() > LANES
                        ? DoubleVector.SPECIES_512
                        : DoubleVector.SPECIES_PREFERRED;

        private Vector() {}

        static void run(double[] left, double[] right, int count, double[] sums) {
            for (int lane = 0; lane < LANES; lane += SPECIES.length()) {
                DoubleVector dot = DoubleVector.zero(SPECIES);
                DoubleVector leftSquare = DoubleVector.zero(SPECIES);
                DoubleVector rightSquare = DoubleVector.zero(SPECIES);
                for (int i = lane; i < count; i += LANES) {
                    DoubleVector a = DoubleVector.fromArray(SPECIES, left, i);
                    DoubleVector b = DoubleVector.fromArray(SPECIES, right, i);
                    dot = dot.add(a.mul(b));
                    leftSquare = leftSquare.add(a.mul(a));
                    rightSquare = rightSquare.add(b.mul(b));
                }
                dot.intoArray(sums, lane);
                leftSquare.intoArray(sums, LANES + lane);
                rightSquare.intoArray(sums, 2 * LANES + lane);
            }
        }
    }
}
