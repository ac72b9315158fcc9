package org.horovod4j.launcher;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;

/// Runs equal steps until they are locked into a plan, and then something else.
final class RepeatedSteps {
    private static final int STEPS = 50;

    private RepeatedSteps() {}

    public static void main(String[] arguments) {
        Hvd.init();
        for (int step = 0; step < STEPS; step++) {
            Hvd.allreduce("gradient", new float[8], ReduceOp.SUM);
        }
        Hvd.allreduce("metric", new float[1], ReduceOp.AVERAGE);
        Hvd.shutdown();
    }
}
