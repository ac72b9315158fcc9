package org.horovod4j.launcher;

import org.horovod4j.launcher.process.Signal;

import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/// Catches Ctrl-C and `kill`, which would end the launcher, and hands them to the job instead.
///
/// `sun.misc.Signal` is the one way in Java to learn which signal came. Its absence costs little: the
/// JVM then ends by itself and the watchdog ends the job.
final class TerminationSignals {
    private final CompletableFuture<Consumer<Signal>> receiver = new CompletableFuture<>();

    private final CompletableFuture<Signal> firstSignal = new CompletableFuture<>();

    private TerminationSignals() {}

    /// Catches SIGINT and SIGTERM from now on, once for the process. A signal that the process was
    /// started to ignore, as a shell does for background jobs, stays ignored.
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

    /// Catches no signal, for a job inside a program whose signals are its own; see [#receive].
    static TerminationSignals manual() {
        return new TerminationSignals();
    }

    /// Names who is told, on a thread of the JVM, of each signal, also of those caught already.
    void forwardTo(Consumer<Signal> to) {
        receiver.complete(to);
    }

    private void handle(Signal signal) {
        sun.misc.Signal.handle(new sun.misc.Signal(signal.name()), _ -> receive(signal));
    }

    /// Whether any signal has come.
    boolean anyReceived() {
        return firstSignal.isDone();
    }

    /// Complete when a signal has come.
    CompletionStage<Signal> firstSignal() {
        return firstSignal;
    }

    /// Passes on a signal that came, or that somebody else wants to have come.
    void receive(Signal signal) {
        firstSignal.complete(signal);
        var _ = receiver.thenAccept(to -> to.accept(signal));
    }
}
