package org.horovod4j.examples;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.Launcher;

import java.util.List;
import java.util.SplittableRandom;

/// Estimates π on several processes, which this program starts itself, without `horovodrun`.
public final class Pi {
    private static final int PROCESSES = 4;

    private Pi() {}

    public static void main(String[] arguments) {
        long points = arguments.length == 0 ? 10_000_000 : Long.parseLong(arguments[0]);
        List<Double> estimates = Launcher.run(PROCESSES, comm -> estimate(comm, points));
        System.out.println("every rank says " + estimates.getFirst());
    }

    /// Counts random points of a square that are inside the circle. Each rank has its part of the
    /// points.
    static double estimate(Communicator comm, long points) {
        SplittableRandom random = new SplittableRandom(comm.rank());
        long share = points / comm.size();
        double[] hits = {0};
        for (long i = 0; i < share; i++) {
            double x = random.nextDouble();
            double y = random.nextDouble();
            hits[0] += x * x + y * y < 1 ? 1 : 0;
        }
        System.out.println("my own share gives " + 4 * hits[0] / share);
        comm.allreduce("hits", hits, ReduceOp.SUM);
        return 4 * hits[0] / (share * comm.size());
    }
}
