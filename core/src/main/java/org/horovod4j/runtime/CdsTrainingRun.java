package org.horovod4j.runtime;

import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.Environment;
import org.horovod4j.option.WorkerSettings;

import java.util.Map;

/// A program that does what every rank does as it starts, without a job.
///
/// The launcher of many ranks runs it before them, to learn from its JVM which classes they will
/// load.
public final class CdsTrainingRun {
    private CdsTrainingRun() {}

    /// Starts as the only rank of a world, then as one of two.
    public static void main(String[] arguments) {
        Map<String, String> noJob = Map.of();
        try (HvdRuntime runtime = new HvdRuntime(noJob);
                Rank rank = runtime.start()) {
            rank.communicator().barrier();
        }
        boolean wentWell =
                new WorkerWarmUp(WorkerSettings.from(new Environment(noJob)), Kernels.best()).run();
        System.exit(wentWell ? 0 : 1);
    }
}
