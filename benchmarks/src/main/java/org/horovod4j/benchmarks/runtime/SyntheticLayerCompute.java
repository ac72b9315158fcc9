package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;

/// A fixed amount of computation, some millisecond on an idle core, in place of a layer's backward
/// pass.
///
/// An amount and not a time: a loop that watched the clock would take a millisecond even where
/// communication holds half of the core, and everything would seem to overlap.
final class SyntheticLayerCompute implements Runnable {
    private static final long TARGET_NANOS = 1_000_000;
    private static final int TRIAL_ITERATIONS = 200_000;
    private static final int TRIALS = 50;

    private final int iterations;
    private double value;

    private SyntheticLayerCompute(int iterations) {
        this.iterations = iterations;
    }

    /// The amount that takes a millisecond on rank 0; every rank gets the same.
    static SyntheticLayerCompute calibrate(Communicator comm) {
        int own = comm.rank() == 0 ? iterationsInTarget() : 0;
        return new SyntheticLayerCompute(comm.broadcastObject("rounds", own, 0));
    }

    /// The fastest of many trials: the first ones ran before the code was compiled.
    private static int iterationsInTarget() {
        SyntheticLayerCompute trial = new SyntheticLayerCompute(TRIAL_ITERATIONS);
        long fastest = Long.MAX_VALUE;
        for (int i = 0; i < TRIALS; i++) {
            long start = System.nanoTime();
            trial.run();
            fastest = Math.min(fastest, System.nanoTime() - start);
        }
        return Math.toIntExact(TRIAL_ITERATIONS * TARGET_NANOS / fastest);
    }

    /// Every multiplication needs the one before, so the time does not depend on how well the
    /// compiler vectorises. The value tends to 1 and stays a normal number.
    @Override
    public void run() {
        double x = value;
        for (int i = 0; i < iterations; i++) {
            x = x * 0.999 + 0.001;
        }
        value = x;
    }
}
