package org.horovod4j.training;

import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleUnaryOperator;

/// A learning rate with a multiplier for each range of epochs.
///
/// ```java
/// LearningRate rate = LearningRateSchedule.of(0.1f * Hvd.size(), epochs)
///         .multiply(0, 30, 1)
///         .multiply(30, 60, 0.1)
///         .multiplyFrom(60, 0.01);
/// ```
///
/// The rate of an update is `rate · multiplier(e)`. In a staircase range, `e` is the number of the
/// epoch. In a smooth range it is the time before the update in epochs (Horovod's
/// `LearningRateScheduleCallback`). Before the first range the multiplier is 1. After the end of a
/// range the rate stays that of its last update.
///
/// Immutable: each method returns a longer schedule.
public final class LearningRateSchedule implements LearningRate {
    private static final int FOREVER = Integer.MAX_VALUE;

    private final float rate;
    private final Epochs epochs;
    private final List<EpochRange> ranges;

    private LearningRateSchedule(float rate, Epochs epochs, List<EpochRange> ranges) {
        this.rate = rate;
        this.epochs = epochs;
        this.ranges = ranges;
    }

    /// A schedule without ranges: the multiplier is 1.
    public static LearningRateSchedule of(float rate, Epochs epochs) {
        return new LearningRateSchedule(rate, epochs, List.of());
    }

    /// Multiplies the rate by a constant in the epochs from `start` to `end - 1`.
    public LearningRateSchedule multiply(int start, int end, double multiplier) {
        return with(new EpochRange(start, end, true, _ -> multiplier));
    }

    /// Multiplies the rate by a constant in all epochs from `start`.
    public LearningRateSchedule multiplyFrom(int start, double multiplier) {
        return multiply(start, FOREVER, multiplier);
    }

    /// Multiplies the rate by `factor` once more in each epoch after `start`:
    /// `factor^(epoch - start)`.
    public LearningRateSchedule decay(int start, int end, double factor) {
        return with(new EpochRange(start, end, true, epoch -> Math.pow(factor, epoch - start)));
    }

    /// Multiplies the rate by a function of the epoch number.
    public LearningRateSchedule staircase(int start, int end, DoubleUnaryOperator multiplier) {
        return with(new EpochRange(start, end, true, multiplier));
    }

    /// Multiplies the rate by a function of the time in epochs, which changes with every update.
    public LearningRateSchedule smooth(int start, int end, DoubleUnaryOperator multiplier) {
        return with(new EpochRange(start, end, false, multiplier));
    }

    private LearningRateSchedule with(EpochRange next) {
        if (!ranges.isEmpty() && ranges.getLast().end > next.start) {
            throw new IllegalArgumentException(
                    "ranges of epochs overlap: one ends before epoch %s, the next starts at epoch %d"
                            .formatted(ranges.getLast().endName(), next.start));
        }
        List<EpochRange> longer = new ArrayList<>(ranges);
        longer.add(next);
        return new LearningRateSchedule(rate, epochs, List.copyOf(longer));
    }

    @Override
    public float at(int update) {
        Epochs.UpdatePosition position = epochs.positionOf(update);
        double multiplier = 1;
        for (EpochRange range : ranges) {
            if (range.start <= position.epoch()) {
                multiplier = range.multiplierAt(position);
            }
        }
        return (float) (rate * multiplier);
    }

    private record EpochRange(
            int start, int end, boolean isStaircase, DoubleUnaryOperator multiplier) {
        EpochRange {
            if (start < 0 || end <= start) {
                throw new IllegalArgumentException(
                        "the range of epochs from %d up to %d is empty or negative"
                                .formatted(start, end));
            }
        }

        double multiplierAt(Epochs.UpdatePosition position) {
            Epochs.UpdatePosition within =
                    position.epoch() < end
                            ? position
                            : new Epochs.UpdatePosition(
                                    end - 1,
                                    position.stepsPerEpoch() - 1,
                                    position.stepsPerEpoch());
            return multiplier.applyAsDouble(isStaircase ? within.epoch() : within.fraction());
        }

        String endName() {
            return end == FOREVER ? "infinity" : String.valueOf(end);
        }
    }
}
