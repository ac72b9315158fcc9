package org.horovod4j.benchmarks;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;

import java.time.Duration;
import java.util.List;
import java.util.Locale;

/// What it costs to wait: rank 0 comes late to an allreduce, and every other rank says how much
/// processor time it burnt meanwhile. Argument: the seconds by which rank 0 is late.
public final class IdleCpuBenchmark {
    private IdleCpuBenchmark() {}

    public static void main(String[] arguments) throws InterruptedException {
        Duration late = Duration.ofSeconds(Long.parseLong(arguments[0]));
        Hvd.init();
        try {
            Communicator comm = Hvd.communicator();
            double percent = cpuPercentWhileWaiting(comm, late);
            List<Double> ofAll = comm.allgatherObject("percent", percent);
            if (comm.rank() == 0) {
                for (int rank = 1; rank < comm.size(); rank++) {
                    System.out.printf(
                            Locale.ROOT,
                            "rank %d waited at %.2f %% of a core%n",
                            rank,
                            ofAll.get(rank));
                }
            }
        } finally {
            Hvd.shutdown();
        }
    }

    /// Percent of a core that this process used between entering the allreduce and leaving it.
    private static double cpuPercentWhileWaiting(Communicator comm, Duration late)
            throws InterruptedException {
        comm.barrier();
        if (comm.rank() == 0) {
            Thread.sleep(late);
        }
        Duration before = cpuTime();
        long start = System.nanoTime();
        comm.allreduce("late", new float[1024], ReduceOp.SUM);
        double elapsed = System.nanoTime() - start;
        return 100 * cpuTime().minus(before).toNanos() / elapsed;
    }

    /// Of all threads of this process, user and system.
    private static Duration cpuTime() {
        return ProcessHandle.current()
                .info()
                .totalCpuDuration()
                .orElseThrow(
                        () ->
                                new IllegalStateException(
                                        "this system does not tell a process its CPU time, so the"
                                                + " cost of waiting cannot be measured here"));
    }
}
