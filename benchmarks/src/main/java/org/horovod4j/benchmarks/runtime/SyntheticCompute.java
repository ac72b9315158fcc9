package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;

/// Simulates the layers of a network by multiplications and additions on one thread.
///
/// It computes a fixed number of iterations, not for a fixed time. If communication uses part of
/// the core, the step takes longer, as in training. Values stay in registers and each operation
/// depends on the previous one, so vectorization and the caches of a shared machine do not change
/// its speed. The time of matrix products varied by a factor of two between processes.
public final class SyntheticCompute {
    private static final int TRIALS = 100;
    private static final double TRIAL_SECONDS = 0.02;

    /// Operations per iteration in each of four chains. An iteration takes about ten nanoseconds.
    static final int OPERATIONS_PER_ITERATION = 8;

    /// Values stay between one and two.
    private static final double FACTOR = 0.5;

    private static final double SUMMAND = 1;

    private double first = 1;
    private double second = 1.25;
    private double third = 1.5;
    private double fourth = 1.75;

    /// Sets the initial values.
    public SyntheticCompute() {}

    /// A task that takes rank 0 one millisecond when its core is idle. All ranks get the same number
    /// of iterations.
    static Runnable oneMillisecond(Communicator comm) {
        long own = comm.rank() == 0 ? Math.round(iterationsPerSecond() * 1e-3) : 0;
        long iterations = comm.broadcastObject("iterations", own, 0);
        SyntheticCompute compute = new SyntheticCompute();
        return () -> compute.run(iterations);
    }

    /// Computes a number of iterations.
    public void run(long iterations) {
        double a = first;
        double b = second;
        double c = third;
        double d = fourth;
        for (long i = 0; i < iterations; i++) {
            for (int step = 0; step < OPERATIONS_PER_ITERATION; step++) {
                a = a * FACTOR + SUMMAND;
                b = b * FACTOR + SUMMAND;
                c = c * FACTOR + SUMMAND;
                d = d * FACTOR + SUMMAND;
            }
        }
        first = a;
        second = b;
        third = c;
        fourth = d;
    }

    /// Uses all values, so that the compiler cannot remove the computation.
    public double checksum() {
        return first + second + third + fourth;
    }

    /// The speed of one core: the fastest of many trials, since the first ones run before the JIT has
    /// compiled the code.
    public static double iterationsPerSecond() {
        SyntheticCompute work = new SyntheticCompute();
        long iterations = 1000;
        double fastest = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            long start = System.nanoTime();
            work.run(iterations);
            double seconds = (System.nanoTime() - start) * 1e-9;
            fastest = Math.max(fastest, iterations / seconds);
            iterations = Math.max(iterations, (long) (fastest * TRIAL_SECONDS));
        }
        return fastest;
    }
}
