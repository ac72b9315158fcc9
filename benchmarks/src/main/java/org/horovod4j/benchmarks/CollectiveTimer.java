package org.horovod4j.benchmarks;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.benchmarks.report.Percentiles;

import java.time.Duration;

/// Times a collective on all ranks: first a warm-up, then batches of calls. A batch starts after a
/// barrier and ends when the slowest rank has finished.
///
/// The length of the warm-up and the size of a batch depend only on times that all ranks have
/// agreed on. All ranks therefore make the same number of calls, and none waits for a call that
/// another rank does not make.
final class CollectiveTimer {
    /// The code was compiled before, see [JitWarmUp]. This is for pages, caches and buffers.
    private static final double WARM_UP_SECONDS = 0.2;

    private static final int BATCHES_MIN = 5;
    private static final int BATCHES_MAX = 25;

    private final Communicator comm;
    private final double timedSeconds;
    private final double warmUpSeconds;

    CollectiveTimer(Communicator comm, Duration timed) {
        this(comm, timed, WARM_UP_SECONDS);
    }

    /// @param warmUpSeconds of each collective, before it is timed
    CollectiveTimer(Communicator comm, Duration timed, double warmUpSeconds) {
        this.comm = comm;
        this.timedSeconds = timed.toNanos() * 1e-9;
        this.warmUpSeconds = warmUpSeconds;
    }

    /// The percentiles over all batches, in microseconds per call.
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

    /// Doubles the batch until all batches together took long enough. Returns the seconds per call in
    /// the last one.
    double warmUp(Runnable collective) {
        double spent = 0;
        double each = 0;
        for (long calls = 1; spent < warmUpSeconds; calls *= 2) {
            each = batch(collective, calls);
            spent += each * calls;
        }
        return each;
    }

    /// Seconds per call on the slowest rank, measured over `calls` consecutive calls.
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
