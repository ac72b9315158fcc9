package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.benchmarks.report.Spread;

import java.time.Duration;

/// Times steps as training makes them: one after the other, with no barrier between them.
///
/// A step lasts, on this rank, from its first submission to its last result; there the next one
/// begins. Ranks agree on times only before the timed steps: to agree is an operation of its own,
/// and would throw the runtime out of the steady state that is to be measured.
final class StepTimer {
    private static final int STEPS_MIN = 20;
    private static final int STEPS_MAX = 200_000;

    /// Steps until the runtime, disturbed by the agreement, is surely in its steady state again.
    private static final int SETTLING_STEPS = 10;

    private final Communicator comm;
    private final double timedSeconds;

    StepTimer(Communicator comm, Duration timed) {
        this.comm = comm;
        this.timedSeconds = timed.toNanos() * 1e-9;
    }

    /// The spread of this rank's steps, in microseconds.
    Spread time(Runnable step) {
        double seconds = warmUp(step);
        int steps = Math.clamp((long) (timedSeconds / seconds), STEPS_MIN, STEPS_MAX);
        double[] micros = new double[steps];
        run(step, SETTLING_STEPS);
        long start = System.nanoTime();
        for (int i = 0; i < steps; i++) {
            step.run();
            long end = System.nanoTime();
            micros[i] = (end - start) * 1e-3;
            start = end;
        }
        return Spread.of(micros);
    }

    /// Every rank hears the slowest rank's time, so all decide alike and none waits for a step that
    /// another left out.
    private double warmUp(Runnable step) {
        WarmUp warmUp = new WarmUp();
        while (!warmUp.isOver()) {
            long start = System.nanoTime();
            run(step, warmUp.steps());
            double[] seconds = {(System.nanoTime() - start) * 1e-9};
            comm.allreduce("slowest", seconds, ReduceOp.MAX);
            warmUp.ran(seconds[0]);
        }
        return warmUp.secondsPerStep();
    }

    private static void run(Runnable step, long steps) {
        for (long i = 0; i < steps; i++) {
            step.run();
        }
    }
}
