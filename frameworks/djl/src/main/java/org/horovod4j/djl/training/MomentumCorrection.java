package org.horovod4j.djl.training;

import ai.djl.Model;
import ai.djl.training.Trainer;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.horovod4j.ConfigurationException;
import org.horovod4j.djl.OptimizerState;

/// Corrects the momentum of SGD when the learning rate changes.
///
/// DJL's `Sgd` and `Nag` include the learning rate in the momentum: `v = m·v + rate·gradient`,
/// `weight -= v`. When the rate changes, `v` still contains the old one, so the step after a rise is
/// too short and the step after a fall too long. For that one update this listener replaces `m` by
/// `m · new rate / old rate` (Goyal et al., 2017, remark 2; Horovod's `momentum_correction`). It
/// matters most during a `LearningRateWarmup`, where the rate changes with every update.
///
/// With `EasyTrain`, DJL calls listeners between backward and step. In your own loop, call [#correct]
/// before `trainer.step()`.
public final class MomentumCorrection extends TrainingListenerAdapter {
    private static final String MOMENTUM = "momentum";

    private final OptimizerState state;
    private final Tracker rate;
    private double momentum = Double.NaN;

    /// @param optimizer an `Sgd` or `Nag` with momentum, distributed or not
    /// @param model the model that it trains
    /// @param rate the learning rate that the optimizer was built with
    public MomentumCorrection(Optimizer optimizer, Model model, Tracker rate) {
        this.state = OptimizerState.of(optimizer, model.getBlock());
        this.rate = rate;
        if (!state.settings().containsKey(MOMENTUM)) {
            throw new ConfigurationException(
                    """
                    MomentumCorrection needs an optimizer with momentum (Sgd, Nag), but %s has the settings %s. \
                    Remove the correction."""
                            .formatted(optimizer.getClass().getSimpleName(), state.settings()));
        }
    }

    @Override
    public void onTrainingBatch(Trainer trainer, BatchData batchData) {
        correct();
    }

    /// Sets the momentum for the next update.
    public void correct() {
        if (Double.isNaN(momentum)) {
            momentum = state.setting(MOMENTUM);
        }
        int done = state.updates();
        double former = done == 0 ? 0 : rate.getNewValue(done);
        double ratio = former == 0 ? 1 : rate.getNewValue(done + 1) / former;
        state.set(MOMENTUM, momentum * ratio);
    }

    @Override
    public void onEpoch(Trainer trainer) {
        reset();
    }

    /// Resets the momentum to that of the optimizer's settings, at the end of an epoch.
    void reset() {
        if (!Double.isNaN(momentum)) {
            state.set(MOMENTUM, momentum);
        }
    }
}
