package org.horovod4j.runtime;

import org.horovod4j.HorovodException;
import org.horovod4j.log.Log;
import org.horovod4j.option.RuntimeOptions.StateSignal;
import org.jspecify.annotations.Nullable;

import sun.misc.Signal;
import sun.misc.SignalHandler;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/// Writes the state of all ranks to this rank's log when it receives a signal, even if the program
/// hangs.
///
/// `sun.misc.Signal` is the only way to handle a signal in Java. Without its module
/// `jdk.unsupported` there is no handler, so only a nested class uses it.
final class StateSignalHandler {
    private static final Logger LOG = Log.of(StateSignalHandler.class);

    private final StateSignal signal;
    private volatile @Nullable Rank rank;

    StateSignalHandler(StateSignal signal) {
        this.signal = signal;
    }

    /// Describes the world of `next` from now on, and installs the handler the first time.
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
            LOG.log(Level.DEBUG, "this JVM does not allow a handler of SIG%s".formatted(signal), e);
        }
    }

    private String describe(Rank current) {
        try {
            return current.communicator().describeState();
        } catch (HorovodException e) { // the rank is leaving
            return String.valueOf(e.getMessage());
        }
    }

    /// Runs on a thread that the JVM creates for each signal, so it may wait for answers.
    private final class Handler implements SignalHandler {
        /// The handler before this one. It is called after this one.
        private @Nullable SignalHandler previous;

        synchronized void install() {
            previous = Signal.handle(new Signal(signal.name()), this);
        }

        /// Waits until `install` has set it: a signal may come before that.
        private synchronized @Nullable SignalHandler previous() {
            return previous;
        }

        @Override
        public void handle(Signal sent) {
            Rank current = rank;
            if (current != null && !current.isClosed()) {
                LOG.log(
                        Level.WARNING,
                        "SIG%s received; the state of all ranks:%n%s"
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
            } catch (RuntimeException | Error e) { // not ours
                LOG.log(Level.WARNING, "another handler of SIG%s failed".formatted(signal), e);
            }
        }
    }
}
