package org.horovod4j.launcher;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/// How a job may be ended from outside.
///
/// @param whileStarting complete when hosts that are not ready yet shall be given up
/// @param interrupts gives whoever may end it later, and is asked once all hosts are ready
record EarlyEnd(CompletionStage<?> whileStarting, Callable<Interrupts> interrupts) {
    /// By Ctrl-C and `kill`, which until all hosts are ready just end the launcher.
    static EarlyEnd bySignal() {
        return new EarlyEnd(new CompletableFuture<>(), Interrupts::caught);
    }

    static EarlyEnd by(Interrupts interrupts) {
        return new EarlyEnd(interrupts.first(), () -> interrupts);
    }
}
