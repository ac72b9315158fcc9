package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.benchmarks.report.Percentiles;

import java.time.Duration;

/// Times steps as training makes them: one after the other, with no barrier between them.
///
/// A step lasts, on this rank, from its first submission to its last result; there the next one
/// begins. Ranks agree on times only while they warm up: to agree is an operation of its own, and would
/// throw the runtime out of the steady state that is to be measured.
final class StepTimer {
    private static final int STEPS_MIN = 5;
    private static final int STEPS_MAX = 200_000;

    /// Steps until the runtime, disturbed by what took its turn before, is surely in its steady state
    /// again.
    private static final int SETTLING_STEPS = 10;

    private final Communicator comm;
    private final double turnSeconds;

    StepTimer(Communicator comm, Duration turn) {
        this.comm = comm;
        this.turnSeconds = turn.toNanos() * 1e-9;
    }

    /// Warms up.
    ///
    /// @return how many steps make a turn, the same on all ranks
    int warmUp(Runnable step) {
        SteadyStateDetector steadyStateDetector = new SteadyStateDetector();
        while (!steadyStateDetector.isOver()) {
            long start = System.nanoTime();
            run(step, steadyStateDetector.nextBlockSteps());
            // Every rank hears the slowest rank's time, so all decide alike and none waits for a
            // step that another left out.
            double[] seconds = {(System.nanoTime() - start) * 1e-9};
            comm.allreduce("slowest", seconds, ReduceOp.MAX);
            steadyStateDetector.recordBlock(seconds[0]);
        }
        return Math.clamp(
                (long) (turnSeconds / steadyStateDetector.secondsPerStep()), STEPS_MIN, STEPS_MAX);
    }

    /// The spread of this rank's steps in one turn, in microseconds.
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
