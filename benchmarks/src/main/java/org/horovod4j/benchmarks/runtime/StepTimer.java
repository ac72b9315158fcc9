package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.benchmarks.report.Percentiles;

import java.time.Duration;

/// Times consecutive steps, with no barrier between them, as in training.
///
/// On this rank, a step lasts from its first submission to its last result; then the next step
/// starts. The ranks exchange times only during the warm-up. That exchange is an operation of its
/// own, and would move the runtime out of the steady state that is measured.
final class StepTimer {
    private static final int STEPS_MIN = 5;
    private static final int STEPS_MAX = 200_000;

    /// Enough steps to bring the runtime back to its steady state after the turn of another
    /// variant.
    private static final int SETTLING_STEPS = 10;

    private final Communicator comm;
    private final double turnSeconds;

    StepTimer(Communicator comm, Duration turn) {
        this.comm = comm;
        this.turnSeconds = turn.toNanos() * 1e-9;
    }

    /// Warms up.
    ///
    /// @return the number of steps in a turn, the same on all ranks
    int warmUp(Runnable step) {
        SteadyStateDetector steadyStateDetector = new SteadyStateDetector();
        while (!steadyStateDetector.isOver()) {
            long start = System.nanoTime();
            run(step, steadyStateDetector.nextBlockSteps());
            // All ranks use the time of the slowest rank. They therefore make the same number of
            // steps, and none waits for a step that another rank does not make.
            double[] seconds = {(System.nanoTime() - start) * 1e-9};
            comm.allreduce("slowest", seconds, ReduceOp.MAX);
            steadyStateDetector.recordBlock(seconds[0]);
        }
        return Math.clamp(
                (long) (turnSeconds / steadyStateDetector.secondsPerStep()), STEPS_MIN, STEPS_MAX);
    }

    /// The percentiles of this rank's steps in one turn, in microseconds.
    Percentiles time(Runnable step, int steps) {
        double[] micros = new double[steps];
        run(step, SETTLING_STEPS);
        long start = System.nanoTime();
        for (int i = 0; i < steps; i++) {
            step.run();
            long end = System.nanoTime();
            micros[i] = (end - start) * 1e-3;
            start = end;
        }
        return Percentiles.of(micros);
    }

    private static void run(Runnable step, long steps) {
        for (long i = 0; i < steps; i++) {
            step.run();
        }
    }
}
