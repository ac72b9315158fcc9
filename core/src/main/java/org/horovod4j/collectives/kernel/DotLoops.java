package org.horovod4j.collectives.kernel;

import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.VectorSpecies;

import java.util.Arrays;

/// The two twins of [DotLoop]. They add the same numbers in the same order and give the same bits.
final class DotLoops {
    private DotLoops() {}

    /// One element at a time.
    static final class Scalar {
        private Scalar() {}

        static void run(double[] left, double[] right, int count, double[] sums) {
            Arrays.fill(sums, 0);
            for (int i = 0; i < count; i += DotLoop.LANES) {
                for (int lane = 0; lane < DotLoop.LANES; lane++) {
                    double a = left[i + lane];
                    double b = right[i + lane];
                    sums[lane] += a * b;
                    sums[DotLoop.LANES + lane] += a * a;
                    sums[2 * DotLoop.LANES + lane] += b * b;
                }
            }
        }
    }

    /// As many sums at a time as the machine's vectors hold.
    ///
    /// Where these hold fewer than all, there is a pass for each vectorful of sums, over arrays
    /// that stay in the cache. Products are rounded before they are added, as in the scalar twin,
    /// although machines could do both at once.
    static final class Vector {
        private static final VectorSpecies<Double> SPECIES =
                DoubleVector.SPECIES_PREFERRED.length() > DotLoop.LANES
                        ? DoubleVector.SPECIES_512
                        : DoubleVector.SPECIES_PREFERRED;

        private Vector() {}

        static void run(double[] left, double[] right, int count, double[] sums) {
            for (int lane = 0; lane < DotLoop.LANES; lane += SPECIES.length()) {
                DoubleVector dot = DoubleVector.zero(SPECIES);
                DoubleVector leftSquare = DoubleVector.zero(SPECIES);
                DoubleVector rightSquare = DoubleVector.zero(SPECIES);
                for (int i = lane; i < count; i += DotLoop.LANES) {
                    DoubleVector a = DoubleVector.fromArray(SPECIES, left, i);
                    DoubleVector b = DoubleVector.fromArray(SPECIES, right, i);
                    dot = dot.add(a.mul(b));
                    leftSquare = leftSquare.add(a.mul(a));
                    rightSquare = rightSquare.add(b.mul(b));
                }
                dot.intoArray(sums, lane);
                leftSquare.intoArray(sums, DotLoop.LANES + lane);
                rightSquare.intoArray(sums, 2 * DotLoop.LANES + lane);
            }
        }
    }
}
