package org.horovod4j.launcher;

import org.horovod4j.launcher.process.Signal;

import java.lang.System.Logger.Level;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandleProxies;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/// Catches Ctrl-C and `kill`, which would end the launcher, and hands them to the job instead.
///
/// `sun.misc.Signal` is the one way in Java to learn which signal came. It is reached by reflection
/// since javac warns of it in words that no flag silences, and its absence costs little: the JVM
/// then ends by itself and the watchdog ends the job.
final class Interrupts {
    private final CompletableFuture<Consumer<Signal>> receiver = new CompletableFuture<>();

    private final CompletableFuture<Signal> first = new CompletableFuture<>();

    private Interrupts() {}

    /// Catches SIGINT and SIGTERM from now on, once for the process. A signal that the process was
    /// started to ignore, as a shell does for background jobs, stays ignored.
    static Interrupts caught() {
        Interrupts interrupts = new Interrupts();
        try {
            interrupts.handle(Signal.INT);
            interrupts.handle(Signal.TERM);
        } catch (ReflectiveOperationException e) {
            System.getLogger(Interrupts.class.getName())
                    .log(Level.DEBUG, "This JVM does not let its signals be handled", e);
        }
        return interrupts;
    }

    /// Catches no signal, for a job inside a program whose signals are its own; see [#came].
    static Interrupts byHand() {
        return new Interrupts();
    }

    /// Names who is told, on a thread of the JVM, of each signal, also of those caught already.
    void passOn(Consumer<Signal> to) {
        receiver.complete(to);
    }

    /// `Signal.handle(new Signal("INT"), _ -> came(signal))`, in reflection.
    private void handle(Signal signal) throws ReflectiveOperationException {
        Class<?> type = Class.forName("sun.misc.Signal");
        Class<?> handler = Class.forName("sun.misc.SignalHandler");
        MethodHandle came =
                MethodHandles.lookup()
                        .bind(this, "came", MethodType.methodType(void.class, Signal.class))
                        .bindTo(signal);
        Object action =
                MethodHandleProxies.asInterfaceInstance(
                        handler, MethodHandles.dropArguments(came, 0, type));
        type.getMethod("handle", type, handler)
                .invoke(null, type.getConstructor(String.class).newInstance(signal.name()), action);
    }

    /// Whether any signal has come.
    boolean hasCome() {
        return first.isDone();
    }

    /// Complete when a signal has come.
    CompletionStage<Signal> first() {
        return first;
    }

    /// Passes on a signal that came, or that somebody else wants to have come.
    void came(Signal signal) {
        first.complete(signal);
        var _ = receiver.thenAccept(to -> to.accept(signal));
    }
}
