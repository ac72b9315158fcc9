package org.horovod4j.launcher;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;

/// A rank that sums all ranks, once or until it is ended.
final class SumOfRanks {
    private SumOfRanks() {}

    public static void main(String[] arguments) {
        boolean once = arguments.length == 0;
        Hvd.init();
        int rounds = 0;
        do {
            float[] sum = {Hvd.rank()};
            Hvd.allreduce("sum", sum, ReduceOp.SUM);
            if (rounds++ == 0) {
                IO.println("job=" + System.getenv("HOROVOD_JOB_ID"));
                IO.println("sum=" + (int) sum[0]);
            }
        } while (!once);
        Hvd.shutdown();
    }
}
