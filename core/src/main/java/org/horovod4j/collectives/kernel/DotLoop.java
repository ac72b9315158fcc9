package org.horovod4j.collectives.kernel;

/// The hot loop of Adasum: three scalar products in one pass over two vectors.
@FunctionalInterface
interface DotLoop {
    /// How many sums run side by side: element `i` belongs to the sum `i % LANES`, whatever the
    /// width of the machine's vectors, and so every machine rounds alike.
    int LANES = 8;

    /// Fills `sums` with [#LANES] sums of `left * right`, then as many of `left * left` and of
    /// `right * right`.
    ///
    /// @param count a multiple of [#LANES]
    void run(double[] left, double[] right, int count, double[] sums);
}
