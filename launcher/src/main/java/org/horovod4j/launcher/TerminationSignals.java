package org.horovod4j.launcher;

import org.horovod4j.launcher.process.Signal;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/// Catches Ctrl-C and `kill`, which would end the launcher, and forwards them to the job.
///
/// `sun.misc.Signal` is the only way in Java to learn which signal came. Without it the JVM ends
/// and the watchdog ends the job.
final class TerminationSignals {
    /// How a job can be ended from outside.
    ///
    /// @param whileStarting when complete, hosts that are not ready yet count as not ready
    /// @param signals called when all hosts are ready; returns the signals that end the job from
    ///     then on
    record Cancellation(CompletionStage<?> whileStarting, Callable<TerminationSignals> signals) {
        /// By Ctrl-C and `kill`. Until all hosts are ready they simply end the launcher.
        static Cancellation bySignal() {
            return new Cancellation(new CompletableFuture<>(), TerminationSignals::install);
        }

        static Cancellation by(TerminationSignals terminationSignals) {
            return new Cancellation(terminationSignals.firstSignal(), () -> terminationSignals);
        }
    }

    private final CompletableFuture<Signal> firstSignal = new CompletableFuture<>();
    private final List<Signal> received = new ArrayList<>();
    private @Nullable Consumer<Signal> receiver;

    private TerminationSignals() {}

    /// Catches SIGINT and SIGTERM from now on; to be called once in a process. A signal that the
    /// process was started to ignore, as a shell does for background jobs, stays ignored.
    static TerminationSignals install() {
        TerminationSignals terminationSignals = new TerminationSignals();
        try {
            terminationSignals.handle(Signal.INT);
            terminationSignals.handle(Signal.TERM);
        } catch (NoClassDefFoundError | IllegalArgumentException e) {
            System.getLogger(TerminationSignals.class.getName())
                    .log(Level.DEBUG, "This JVM does not let its signals be handled", e);
        }
        return terminationSignals;
    }

    /// Catches no signals, for a job inside a program; see [#receive].
    static TerminationSignals manual() {
        return new TerminationSignals();
    }

    /// Forwards all signals to `receiver`, including those received before, and no longer to the
    /// receiver before it.
    ///
    /// @param receiver called on any thread; must not block
    synchronized void forwardTo(Consumer<Signal> receiver) {
        this.receiver = receiver;
        received.forEach(receiver);
    }

    private void handle(Signal signal) {
        sun.misc.Signal.handle(new sun.misc.Signal(signal.name()), _ -> receive(signal));
    }

    boolean anyReceived() {
        return firstSignal.isDone();
    }

    /// Complete when a signal was received.
    CompletionStage<Signal> firstSignal() {
        return firstSignal;
    }

    /// Acts as if the process had received this signal.
    void receive(Signal signal) {
        firstSignal.complete(signal);
        synchronized (this) {
            received.add(signal);
            if (receiver != null) {
                receiver.accept(signal);
            }
        }
    }
}
