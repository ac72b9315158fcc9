package org.horovod4j.djl;

import org.horovod4j.log.Log;
import org.horovod4j.optim.GradientReducer;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/// When the gradients of a step are reduced: by the step, or before it by a program that wants to
/// change them, and then tells the step not to do it again.
final class StepReduction {
    private static final Logger LOG = Log.of(StepReduction.class);

    private boolean isSynchronized;
    private boolean isSkipping;
    private boolean hasWarned;

    /// Reduces them now, whether or not the window of backward passes is complete.
    void reduceNow(GradientSynchronizer gradientSynchronizer) {
        if (isSynchronized && hasNoNewPasses(gradientSynchronizer)) {
            return;
        }
        if (!gradientSynchronizer.hasHooks()) {
            gradientSynchronizer.reducer().backwardPassCompleted();
        }
        gradientSynchronizer.synchronize();
        isSynchronized = true;
    }

    /// Whether steps take gradients as they are from now on.
    void setSkipping(boolean yes) {
        isSkipping = yes;
    }

    /// Reduces them as a step begins, if the step is to do so and the window is complete.
    ///
    /// @param isFirst whether the step began without hooks, so that passes were not counted
    /// @param passes how many make a step
    /// @return whether this step changes weights
    boolean reduceAtStep(GradientSynchronizer gradientSynchronizer, boolean isFirst, int passes) {
        if (isSkipping) {
            consumeSynchronized();
            return true;
        }
        if (isSynchronized && hasNoNewPasses(gradientSynchronizer)) {
            warn("would synchronize again, and takes the gradients as they are");
            isSynchronized = false;
            return true;
        }
        if (isSynchronized && !gradientSynchronizer.hasHooks()) {
            warn("synchronizes again");
        }
        GradientReducer reducer = gradientSynchronizer.reducer();
        if (isFirst || !gradientSynchronizer.hasHooks()) {
            reducer.backwardPassCompleted();
        }
        reducer.stepRequested();
        boolean isOver =
                reducer.isComplete() || (isFirst && gradientSynchronizer.hasHooks()) || passes == 1;
        if (isOver) {
            gradientSynchronizer.synchronize();
        }
        isSynchronized = false;
        return isOver;
    }

    /// Forgets what the program has said.
    void reset() {
        isSynchronized = false;
        isSkipping = false;
    }

    private void consumeSynchronized() {
        if (!isSynchronized) {
            throw new IllegalStateException(
                    """
                    step() inside skipSynchronize(), but gradients are not synchronized
                    Call synchronize() before it, after the last backward pass.""");
        }
        isSynchronized = false;
    }

    /// Whether there was no backward pass since gradients were synchronized, as hooks would have
    /// told.
    private static boolean hasNoNewPasses(GradientSynchronizer gradientSynchronizer) {
        return gradientSynchronizer.hasHooks() && gradientSynchronizer.reducer().passes() == 0;
    }

    private void warn(String consequence) {
        if (!hasWarned) {
            hasWarned = true;
            LOG.log(
                    Level.WARNING,
                    "step() after synchronize() {0}: put it inside skipSynchronize() to take them as they"
                            + " are",
                    consequence);
        }
    }
}
