package org.horovod4j.optim;

import org.horovod4j.log.Log;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/// Throws the failures of hooks on gradients. Native code calls hooks, so they cannot throw themselves.
public final class HookFailures {
    private static final Logger LOG = Log.of(HookFailures.class);

    private final Runnable rethrow;

    /// @param rethrow throws the failures of hooks since its last call, if there were any
    public HookFailures(Runnable rethrow) {
        this.rethrow = rethrow;
    }

    /// Reduces first and throws the failures of hooks afterwards, so that all reductions are waited for.
    @SuppressWarnings("ReferenceEquality") // the same exception, not an equal one
    public void throwAfter(Runnable reduction) {
        try {
            reduction.run();
        } catch (RuntimeException | Error e) {
            try {
                rethrow.run();
            } catch (RuntimeException | Error hookFailure) {
                if (hookFailure != e) { // the loss of a peer is one exception
                    e.addSuppressed(hookFailure);
                }
            }
            throw e;
        }
        rethrow.run();
    }

    /// Ends an accumulation window without a step, and logs its failures. See [GradientReducer#discard].
    public void discard(GradientReducer reducer) {
        reducer.discard().ifPresent(HookFailures::logDiscarded);
        try {
            rethrow.run();
        } catch (RuntimeException | Error e) {
            logDiscarded(e);
        }
    }

    private static void logDiscarded(Throwable failure) {
        LOG.log(Level.DEBUG, "a failure in an accumulation window that was discarded", failure);
    }
}
