package org.horovod4j.runtime;

import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.Environment;
import org.horovod4j.option.WorkerSettings;

import java.util.Map;

/// Does what every rank does at its start, without a job.
///
/// The launcher runs it before a job of many ranks, to record which classes they will load.
public final class CdsTrainingRun {
    private CdsTrainingRun() {}

    /// Starts as the only rank of a job, then as one of two.
    public static void main(String[] arguments) {
        Map<String, String> noJob = Map.of();
        try (HvdRuntime runtime = new HvdRuntime(noJob);
                Rank rank = runtime.start()) {
            rank.communicator().barrier();
        }
        boolean succeeded =
                new WorkerWarmUp(WorkerSettings.from(new Environment(noJob)), Kernels.best()).run();
        System.exit(succeeded ? 0 : 1);
    }
}
