package org.horovod4j.runtime;

import org.horovod4j.HorovodException;
import org.horovod4j.log.Log;
import org.horovod4j.option.StateSignal;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandleProxies;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/// Writes what all ranks are doing to this rank's log when a signal asks for it, however the
/// program hangs.
///
/// `sun.misc.Signal` is the one way in Java to hear a signal. It is reached by reflection since
/// javac warns of it in words that no flag silences; a Java without the module `jdk.unsupported`
/// goes without.
final class StateOnSignal {
    private static final Logger LOG = Log.of(StateOnSignal.class);

    private final StateSignal signal;
    private volatile @Nullable Rank rank;
    private volatile @Nullable Before before;

    /// What handled the signal until now, and hears of it still.
    ///
    /// @param handle takes the handler and the signal
    private record Before(Object handler, MethodHandle handle) {}

    StateOnSignal(StateSignal signal) {
        this.signal = signal;
    }

    /// Tells of the world of `next` from now on, and listens if it does not yet.
    void tellOf(Rank next) {
        boolean first = rank == null;
        rank = next;
        if (first && signal != StateSignal.NONE) {
            listen();
        }
    }

    private void listen() {
        try {
            Class<?> type = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            MethodHandle came =
                    lookup.bind(this, "came", MethodType.methodType(void.class, Object.class))
                            .asType(MethodType.methodType(void.class, type));
            Object old =
                    type.getMethod("handle", type, handler)
                            .invoke(
                                    null,
                                    type.getConstructor(String.class).newInstance(signal.name()),
                                    MethodHandleProxies.asInterfaceInstance(handler, came));
            if (!handler.getField("SIG_DFL").get(null).equals(old)
                    && !handler.getField("SIG_IGN").get(null).equals(old)) {
                before = new Before(old, lookup.unreflect(handler.getMethod("handle", type)));
            }
        } catch (ReflectiveOperationException e) {
            LOG.log(Level.DEBUG, "this Java does not let SIG%s be handled".formatted(signal), e);
        }
    }

    /// On a thread that the JVM makes for each signal, so that waiting for answers holds nobody up.
    @SuppressWarnings("UnusedMethod") // called through its handle
    private void came(Object sent) {
        Rank current = rank;
        if (current != null && !current.isClosed()) {
            LOG.log(
                    Level.WARNING,
                    "SIG%s asks what all ranks are doing%n%s"
                            .formatted(signal, describe(current).stripTrailing()));
        }
        Before other = before;
        if (other != null) {
            passOn(other, sent);
        }
    }

    private static String describe(Rank rank) {
        try {
            return rank.communicator().describeState();
        } catch (HorovodException e) { // the world ends just now
            return String.valueOf(e.getMessage());
        }
    }

    private void passOn(Before other, Object sent) {
        try {
            other.handle.invoke(other.handler, sent);
        } catch (Throwable e) { // a method handle may throw anything, and so may somebody else's
            LOG.log(Level.WARNING, "another handler of SIG%s failed".formatted(signal), e);
        }
    }
}
