package org.horovod4j.benchmarks.training;

/// Chains of multiplications and additions on one thread, in place of the layers of a network.
///
/// Work is counted in rounds, so it is an amount and not a time: what communication takes away from a
/// core makes the step longer, as it does in training. It stays in registers, and each operation waits
/// for the one before: neither the compiler's choice of vectors nor what neighbours of a virtual machine
/// leave of the caches changes its speed. Matrix products, tried first, took up to twice as long from
/// one process to the next.
final class SyntheticCompute {
    private static final int TRIALS = 100;
    private static final double TRIAL_SECONDS = 0.02;

    /// Of one round, on each chain: some ten nanoseconds, few enough to give each layer its share.
    static final int OPERATIONS_PER_ITERATION = 8;

    /// Values stay between one and two.
    private static final double FACTOR = 0.5;

    private static final double SUMMAND = 1;

    private double first = 1;
    private double second = 1.25;
    private double third = 1.5;
    private double fourth = 1.75;

    void run(long rounds) {
        double a = first;
        double b = second;
        double c = third;
        double d = fourth;
        for (long round = 0; round < rounds; round++) {
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

    /// What has been computed, which nobody needs; but what nobody could ask for, the compiler would
    /// leave out.
    double checksum() {
        return first + second + third + fourth;
    }

    /// How many rounds one core makes in a second: the fastest of many trials, since the first ones run
    /// before the code is compiled, and others beside the compiler.
    static double iterationsPerSecond() {
        SyntheticCompute work = new SyntheticCompute();
        long rounds = 1000;
        double fastest = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            long start = System.nanoTime();
            work.run(rounds);
            double seconds = (System.nanoTime() - start) * 1e-9;
            fastest = Math.max(fastest, rounds / seconds);
            rounds = Math.max(rounds, (long) (fastest * TRIAL_SECONDS));
        }
        return fastest;
    }
}
