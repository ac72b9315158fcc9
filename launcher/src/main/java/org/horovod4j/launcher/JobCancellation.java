package org.horovod4j.launcher;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/// How a job may be ended from outside.
///
/// @param whileStarting complete when hosts that are not ready yet shall be given up
/// @param signals gives whoever may end it later, and is asked once all hosts are ready
record JobCancellation(CompletionStage<?> whileStarting, Callable<TerminationSignals> signals) {
    /// By Ctrl-C and `kill`, which until all hosts are ready just end the launcher.
    static JobCancellation bySignal() {
        return new JobCancellation(new CompletableFuture<>(), TerminationSignals::install);
    }

    static JobCancellation by(TerminationSignals terminationSignals) {
        return new JobCancellation(terminationSignals.firstSignal(), () -> terminationSignals);
    }
}
