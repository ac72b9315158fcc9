package org.horovod4j.optim;

import org.horovod4j.log.Log;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/// Decides when the gradients of a step are reduced: by the step, or before it by a program that
/// changes them and then skips the reduction of the step.
public final class StepReduction {
    private static final Logger LOG = Log.of(StepReduction.class);

    private boolean isSynchronized;
    private boolean isSkipping;
    private boolean hasWarned;

    public StepReduction() {}

    /// The gradients of an optimizer.
    public interface StepGradients {
        /// Whether hooks call the reducer during backward.
        boolean hasHooks();

        GradientReducer reducer();

        /// Reduces all gradients and waits for them.
        void synchronize();
    }

    /// Reduces gradients now, even if the accumulation window is incomplete.
    public void reduceNow(StepGradients gradients) {
        if (isSynchronized && hasNoNewPasses(gradients)) {
            return;
        }
        if (!gradients.hasHooks()) {
            gradients.reducer().backwardPassCompleted();
        }
        gradients.synchronize();
        isSynchronized = true;
    }

    /// Sets whether steps apply gradients without reducing them.
    public void setSkipping(boolean yes) {
        isSkipping = yes;
    }

    /// Reduces gradients at the beginning of a step, if it does not skip that and the accumulation
    /// window is complete.
    ///
    /// @param isFirst whether there were no hooks before this step, so that passes were not counted
    /// @param passes the number of backward passes in a step
    /// @return whether this step changes weights
    public boolean reduceAtStep(StepGradients gradients, boolean isFirst, int passes) {
        if (isSkipping) {
            consumeSynchronized();
            return true;
        }
        if (isSynchronized && hasNoNewPasses(gradients)) {
            warn("applies the gradients without reducing them again");
            isSynchronized = false;
            return true;
        }
        if (isSynchronized && !gradients.hasHooks()) {
            warn("reduces them again");
        }
        GradientReducer reducer = gradients.reducer();
        if (isFirst || !gradients.hasHooks()) {
            reducer.backwardPassCompleted();
        }
        reducer.stepRequested();
        boolean isOver = reducer.isComplete() || (isFirst && gradients.hasHooks()) || passes == 1;
        if (isOver) {
            gradients.synchronize();
        }
        isSynchronized = false;
        return isOver;
    }

    /// Returns to the initial state.
    public void reset() {
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
    private static boolean hasNoNewPasses(StepGradients gradients) {
        return gradients.hasHooks() && gradients.reducer().passes() == 0;
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
