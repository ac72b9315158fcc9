package org.horovod4j.benchmarks;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;

import java.time.Duration;
import java.util.List;
import java.util.Locale;

/// Measures the CPU time of waiting: rank 0 enters an allreduce late, and every other rank reports
/// the CPU time that it used while it waited. Argument: the delay of rank 0 in seconds.
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

    /// CPU usage of this process during the allreduce, in percent of one core.
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

    /// User and system time of all threads of this process.
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
