package org.horovod4j.djl.training;

import ai.djl.Model;
import ai.djl.training.Trainer;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.horovod4j.ConfigurationException;
import org.horovod4j.djl.OptimizerState;

/// Keeps the momentum of SGD in proportion while the learning rate changes.
///
/// DJL's `Sgd` and `Nag` have the learning rate inside the momentum: `v = m·v + rate·gradient`,
/// `weight -= v`. When the rate changes, `v` still holds the old one, so the step after a rise is
/// too short and the one after a fall too long. For that one update this listener makes `m` into `m
/// · new rate / old rate` (Goyal et al., 2017, remark 2; Horovod's `momentum_correction`). It
/// matters most in a [LearningRateWarmup], where the rate changes with every update.
///
/// DJL calls listeners between backward and step, in `EasyTrain`. In a loop of your own, call
/// [#correct] before `trainer.step()`.
public final class MomentumCorrection extends TrainingListenerAdapter {
    private static final String MOMENTUM = "momentum";

    private final OptimizerState state;
    private final Tracker rate;
    private double momentum = Double.NaN;

    /// @param optimizer an `Sgd` or `Nag` with momentum, distributed or not
    /// @param model what it trains
    /// @param rate the learning rate that the optimizer was built with
    public MomentumCorrection(Optimizer optimizer, Model model, Tracker rate) {
        this.state = OptimizerState.of(optimizer, model.getBlock());
        this.rate = rate;
        if (!state.settings().containsKey(MOMENTUM)) {
            throw new ConfigurationException(
                    """
                    MomentumCorrection is for Sgd and Nag, but %s has no momentum; its settings are %s. Leave \
                    the correction out."""
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

    /// Sets the momentum to what the optimizer was built with, as it is between epochs.
    void reset() {
        if (!Double.isNaN(momentum)) {
            state.set(MOMENTUM, momentum);
        }
    }
}
