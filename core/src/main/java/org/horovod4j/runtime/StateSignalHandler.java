package org.horovod4j.runtime;

import org.horovod4j.HorovodException;
import org.horovod4j.log.Log;
import org.horovod4j.option.RuntimeOptions.StateSignal;
import org.jspecify.annotations.Nullable;

import sun.misc.Signal;
import sun.misc.SignalHandler;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/// Writes what all ranks are doing to this rank's log when a signal asks for it, however the
/// program hangs.
///
/// `sun.misc.Signal` is the one way in Java to hear a signal. A Java without its module,
/// `jdk.unsupported`, goes without: all that needs it is in a class of its own.
final class StateSignalHandler {
    private static final Logger LOG = Log.of(StateSignalHandler.class);

    private final StateSignal signal;
    private volatile @Nullable Rank rank;

    StateSignalHandler(StateSignal signal) {
        this.signal = signal;
    }

    /// Tells of the world of `next` from now on, and listens if it does not yet.
    void watch(Rank next) {
        boolean first = rank == null;
        rank = next;
        if (first && signal != StateSignal.NONE) {
            install();
        }
    }

    private void install() {
        try {
            new Handler().install();
        } catch (NoClassDefFoundError | IllegalArgumentException e) {
            LOG.log(Level.DEBUG, "this Java does not let SIG%s be handled".formatted(signal), e);
        }
    }

    private String describe(Rank current) {
        try {
            return current.communicator().describeState();
        } catch (HorovodException e) { // the world ends just now
            return String.valueOf(e.getMessage());
        }
    }

    /// Called on a thread that the JVM makes for each signal, so that waiting for answers holds
    /// nobody up.
    private final class Handler implements SignalHandler {
        /// Handled the signal until now, and hears of it still.
        private @Nullable SignalHandler previous;

        synchronized void install() {
            previous = Signal.handle(new Signal(signal.name()), this);
        }

        /// Waits until it is known, for a signal may come as soon as the JVM knows of this one.
        private synchronized @Nullable SignalHandler previous() {
            return previous;
        }

        @Override
        public void handle(Signal sent) {
            Rank current = rank;
            if (current != null && !current.isClosed()) {
                LOG.log(
                        Level.WARNING,
                        "SIG%s asks what all ranks are doing%n%s"
                                .formatted(signal, describe(current).stripTrailing()));
            }
            SignalHandler other = previous();
            if (other != null && !other.equals(SIG_DFL) && !other.equals(SIG_IGN)) {
                forward(other, sent);
            }
        }

        private void forward(SignalHandler other, Signal sent) {
            try {
                other.handle(sent);
            } catch (RuntimeException | Error e) { // somebody else's
                LOG.log(Level.WARNING, "another handler of SIG%s failed".formatted(signal), e);
            }
        }
    }
}
