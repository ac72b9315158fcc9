package org.horovod4j.benchmarks;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.benchmarks.report.Percentiles;

import java.time.Duration;

/// Times a collective on all ranks at once: a warm-up, then batches of calls, each between a
/// barrier and the moment when the slowest rank is through.
///
/// Every decision (how long to warm up, how many calls make a batch) rests on times that the ranks
/// have agreed on, so all of them decide alike and none waits for a call that another left out.
final class CollectiveTimer {
    /// Calls after which the JIT compiler has surely seen enough of even the rare branches.
    private static final long WARM_UP_CALLS = 50_000;

    /// Large tensors need few calls but time, for pages, caches and buffers.
    private static final double WARM_UP_SECONDS = 1;

    /// Where 50 000 calls would take minutes, they are compiled long before.
    private static final double WARM_UP_SECONDS_MAX = 3;

    private static final int BATCHES_MIN = 5;
    private static final int BATCHES_MAX = 25;

    private final Communicator comm;
    private final double timedSeconds;

    CollectiveTimer(Communicator comm, Duration timed) {
        this.comm = comm;
        this.timedSeconds = timed.toNanos() * 1e-9;
    }

    /// The spread of the batches, in microseconds for one call.
    Percentiles time(Runnable collective) {
        double each = warmUp(collective);
        long calls = Math.max(1, (long) (timedSeconds / BATCHES_MAX / each));
        int batches = Math.clamp((long) (timedSeconds / (calls * each)), BATCHES_MIN, BATCHES_MAX);
        double[] samples = new double[batches];
        for (int i = 0; i < batches; i++) {
            samples[i] = batch(collective, calls) * 1e6;
        }
        return Percentiles.of(samples);
    }

    /// Doubles the batch until the code is hot, and returns the seconds of one call in the last.
    private double warmUp(Runnable collective) {
        double spent = 0;
        double each = 0;
        long done = 0;
        for (long calls = 1; !isWarm(spent, done); calls *= 2) {
            each = batch(collective, calls);
            spent += each * calls;
            done += calls;
        }
        return each;
    }

    private static boolean isWarm(double seconds, long calls) {
        return seconds >= WARM_UP_SECONDS
                && (calls >= WARM_UP_CALLS || seconds >= WARM_UP_SECONDS_MAX);
    }

    /// Seconds that the slowest rank needs for one of `calls` in a row.
    private double batch(Runnable collective, long calls) {
        comm.barrier();
        long start = System.nanoTime();
        for (long i = 0; i < calls; i++) {
            collective.run();
        }
        double[] seconds = {(System.nanoTime() - start) * 1e-9};
        comm.allreduce("slowest", seconds, ReduceOp.MAX);
        return seconds[0] / calls;
    }
}
