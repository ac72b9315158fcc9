package org.horovod4j.launcher;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;

import java.util.concurrent.CountDownLatch;

/// Rank 1 waits for something else than the collective in which the other ranks are.
final class SleepingRank {
    private SleepingRank() {}

    public static void main(String[] arguments) throws InterruptedException {
        Hvd.init();
        if (Hvd.rank() == 1) {
            waitForData();
        }
        Hvd.allreduce("mean", new float[3], ReduceOp.AVERAGE);
    }

    private static void waitForData() throws InterruptedException {
        new CountDownLatch(1).await();
    }
}
