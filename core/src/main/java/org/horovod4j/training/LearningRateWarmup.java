package org.horovod4j.training;

/// Raises the learning rate from that of one process to that of all ranks during the first epochs.
///
/// The batch of `n` ranks together allows a learning rate `n` times as large, but not in the first
/// epochs. The rate grows linearly from `rate / n` to `rate`:
///
/// `rate · (e · (n - 1) / warmupEpochs + 1) / n`, where `e` is the time after the update in epochs
/// (Goyal et al., 2017; Horovod's `LearningRateWarmupCallback`). After the warm-up the rate is that
/// of `then` for the same update number.
///
/// ```java
/// LearningRate rate = LearningRateWarmup.to(0.1f * Hvd.size(), Hvd.size(), 5, epochs);
/// ```
///
/// @param rate the rate at the end of the warm-up: the rate of one process, times the ranks
/// @param ranks the number of ranks
/// @param warmupEpochs the length of the warm-up
/// @param epochs maps updates to epochs
/// @param then the rate after the warm-up
public record LearningRateWarmup(
        float rate, int ranks, int warmupEpochs, Epochs epochs, LearningRate then)
        implements LearningRate {
    public LearningRateWarmup {
        if (warmupEpochs < 0) {
            throw new IllegalArgumentException(
                    "a warm-up of %d epochs: give 0 or more".formatted(warmupEpochs));
        }
        if (ranks < 1) {
            throw new IllegalArgumentException(
                    "a warm-up over %d ranks: give 1 or more".formatted(ranks));
        }
    }

    /// A warm-up to `rate`, which stays constant afterwards.
    public static LearningRateWarmup to(float rate, int ranks, int warmupEpochs, Epochs epochs) {
        return new LearningRateWarmup(
                rate, ranks, warmupEpochs, epochs, LearningRate.constant(rate));
    }

    /// The same warm-up, followed by another learning rate.
    public LearningRateWarmup then(LearningRate next) {
        return new LearningRateWarmup(rate, ranks, warmupEpochs, epochs, next);
    }

    @Override
    public float at(int update) {
        Epochs.UpdatePosition position = epochs.positionOf(update);
        if (position.epoch() >= warmupEpochs) {
            return then.at(update);
        }
        double done = position.epoch() + (position.batch() + 1.0) / position.stepsPerEpoch();
        return (float) (rate * (done * (ranks - 1) / warmupEpochs + 1) / ranks);
    }
}
