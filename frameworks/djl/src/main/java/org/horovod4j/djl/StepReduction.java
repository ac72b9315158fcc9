package org.horovod4j.djl;

import org.horovod4j.log.Log;
import org.horovod4j.optim.GradientReducer;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/// Decides when the gradients of a step are reduced: by the step, or before it by a program that
/// changes them and then skips the reduction of the step.
final class StepReduction {
    private static final Logger LOG = Log.of(StepReduction.class);

    private boolean isSynchronized;
    private boolean isSkipping;
    private boolean hasWarned;

    /// Reduces gradients now, even if the accumulation window is incomplete.
    void reduceNow(GradientSynchronizer synchronizer) {
        if (isSynchronized && hasNoNewPasses(synchronizer)) {
            return;
        }
        if (!synchronizer.hasHooks()) {
            synchronizer.reducer().backwardPassCompleted();
        }
        synchronizer.synchronize();
        isSynchronized = true;
    }

    /// Sets whether steps apply gradients without reducing them.
    void setSkipping(boolean yes) {
        isSkipping = yes;
    }

    /// Reduces gradients at the beginning of a step, if it does not skip that and the accumulation
    /// window is complete.
    ///
    /// @param isFirst whether there were no hooks before this step, so that passes were not counted
    /// @param passes the number of backward passes in a step
    /// @return whether this step changes weights
    boolean reduceAtStep(GradientSynchronizer synchronizer, boolean isFirst, int passes) {
        if (isSkipping) {
            consumeSynchronized();
            return true;
        }
        if (isSynchronized && hasNoNewPasses(synchronizer)) {
            warn("applies the gradients without reducing them again");
            isSynchronized = false;
            return true;
        }
        if (isSynchronized && !synchronizer.hasHooks()) {
            warn("reduces them again");
        }
        GradientReducer reducer = synchronizer.reducer();
        if (isFirst || !synchronizer.hasHooks()) {
            reducer.backwardPassCompleted();
        }
        reducer.stepRequested();
        boolean isOver =
                reducer.isComplete() || (isFirst && synchronizer.hasHooks()) || passes == 1;
        if (isOver) {
            synchronizer.synchronize();
        }
        isSynchronized = false;
        return isOver;
    }

    /// Returns to the initial state.
    void reset() {
        isSynchronized = false;
        isSkipping = false;
    }

    private void consumeSynchronized() {
        if (!isSynchronized) {
            throw new IllegalStateException(
                    """
                    step() inside skipSynchronize(), but gradients are not synchronized
                    Call synchronize() after the last backward pass and before step().""");
        }
        isSynchronized = false;
    }

    /// Whether hooks have counted no backward pass since gradients were synchronized.
    private static boolean hasNoNewPasses(GradientSynchronizer synchronizer) {
        return synchronizer.hasHooks() && synchronizer.reducer().passes() == 0;
    }

    private void warn(String consequence) {
        if (!hasWarned) {
            hasWarned = true;
            LOG.log(
                    Level.WARNING,
                    "step() after synchronize() {0}: call it inside skipSynchronize() to apply them"
                            + " unchanged",
                    consequence);
        }
    }
}
