package org.horovod4j.djl.training;

import ai.djl.training.tracker.Tracker;

import org.horovod4j.Hvd;

/// Begins with the learning rate of one process and raises it, update by update, to that of all.
///
/// The larger batch of `n` ranks bears a learning rate `n` times as large, but not in the first
/// epochs. From `rate / n` it grows to `rate` in a straight line over the epochs of the warm-up:
///
/// `rate · (e · (n - 1) / warmupEpochs + 1) / n`, where `e` is the epoch and the part of it that is
/// done after this update (Goyal et al., 2017; Horovod's `LearningRateWarmupCallback`). What
/// follows, follows from another tracker, which is asked by the same update numbers.
///
/// @param rate after the warm-up: the rate of one process, times the number of ranks
/// @param ranks among which the rate starts divided
/// @param warmupEpochs how long it takes
/// @param epochs which update belongs to which epoch
/// @param then the rate after the warm-up
public record LearningRateWarmup(
        float rate, int ranks, int warmupEpochs, Epochs epochs, Tracker then) implements Tracker {
    public LearningRateWarmup {
        if (warmupEpochs < 0) {
            throw new IllegalArgumentException(
                    "a warm-up takes no less than 0 epochs: " + warmupEpochs);
        }
        if (ranks < 1) {
            throw new IllegalArgumentException("there is at least one rank, not " + ranks);
        }
    }

    /// A warm-up over all ranks, with `rate` ever after.
    public static LearningRateWarmup to(float rate, int warmupEpochs, Epochs epochs) {
        return new LearningRateWarmup(rate, Hvd.size(), warmupEpochs, epochs, Tracker.fixed(rate));
    }

    /// The same warm-up, and then what another tracker says.
    public LearningRateWarmup then(Tracker next) {
        return new LearningRateWarmup(rate, ranks, warmupEpochs, epochs, next);
    }

    @Override
    public float getNewValue(int numUpdate) {
        Epochs.UpdatePosition updatePosition = epochs.positionOf(numUpdate);
        if (updatePosition.epoch() >= warmupEpochs) {
            return then.getNewValue(numUpdate);
        }
        double done =
                updatePosition.epoch()
                        + (updatePosition.batch() + 1.0) / updatePosition.stepsPerEpoch();
        return (float) (rate * (done * (ranks - 1) / warmupEpochs + 1) / ranks);
    }
}
