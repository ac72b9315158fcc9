package org.horovod4j.launcher;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/// How a job may be ended from outside.
///
/// @param whileStarting when complete, hosts that are not ready yet count as not ready
/// @param signals called when all hosts are ready; returns the signals that end the job from then
///     on
record JobCancellation(CompletionStage<?> whileStarting, Callable<TerminationSignals> signals) {
    /// By Ctrl-C and `kill`. Until all hosts are ready they simply end the launcher.
    static JobCancellation bySignal() {
        return new JobCancellation(new CompletableFuture<>(), TerminationSignals::install);
    }

    static JobCancellation by(TerminationSignals terminationSignals) {
        return new JobCancellation(terminationSignals.firstSignal(), () -> terminationSignals);
    }
}
