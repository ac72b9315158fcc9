package org.horovod4j.launcher;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;

/// Runs collectives until it is ended from outside.
final class EndlessTraining {
    private EndlessTraining() {}

    public static void main(String[] arguments) {
        Hvd.init();
        train();
    }

    static void train() {
        System.out.println("job=" + System.getenv("HOROVOD_JOB_ID"));
        float[] gradient = new float[100_000];
        for (int step = 0; ; step++) {
            Hvd.allreduce("gradient", gradient, ReduceOp.AVERAGE);
            Hvd.barrier();
            if (step == 20) {
                System.out.println("training " + Hvd.rank());
            }
        }
    }
}
