package org.horovod4j.process;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;

/// The program of ranks that a scheduler starts: prints its rank, and a sum over all ranks.
final class SumProgram {
    private SumProgram() {}

    public static void main(String[] arguments) {
        for (int world = 0; world < 2; world++) { // the second finds the way without the file
            Hvd.init();
            float[] sum = {Hvd.rank() + 1};
            Hvd.allreduce("sum", sum, ReduceOp.SUM);
            // In one write: mpirun marks whatever it reads at a time.
            System.out.println(
                    "world %d: rank %d of %d, local %d of %d, cross %d of %d: %.0f"
                            .formatted(
                                    world,
                                    Hvd.rank(),
                                    Hvd.size(),
                                    Hvd.localRank(),
                                    Hvd.localSize(),
                                    Hvd.crossRank(),
                                    Hvd.crossSize(),
                                    sum[0]));
            Hvd.shutdown();
        }
    }
}
