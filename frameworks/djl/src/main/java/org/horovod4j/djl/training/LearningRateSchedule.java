package org.horovod4j.djl.training;

import ai.djl.training.tracker.Tracker;

import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleUnaryOperator;

/// A learning rate that is multiplied by something else in each stretch of epochs.
///
/// ```java
/// Tracker rate = LearningRateSchedule.of(0.1f * Hvd.size(), epochs)
///         .multiply(0, 30, 1)
///         .multiply(30, 60, 0.1)
///         .multiplyFrom(60, 0.01);
/// ```
///
/// The rate at an update is `rate · multiplier(e)`. In a staircase `e` is the number of the epoch;
/// in a smooth stretch it is the epoch with the part of it that lies before the update (Horovod's
/// `LearningRateScheduleCallback`). Before the first stretch the multiplier is 1; after one that
/// ends, the rate stays as it was at its last update.
///
/// Immutable: each method returns a longer schedule.
public final class LearningRateSchedule implements Tracker {
    private static final int FOREVER = Integer.MAX_VALUE;

    private final float rate;
    private final Epochs epochs;
    private final List<Segment> segments;

    private LearningRateSchedule(float rate, Epochs epochs, List<Segment> segments) {
        this.rate = rate;
        this.epochs = epochs;
        this.segments = segments;
    }

    public static LearningRateSchedule of(float rate, Epochs epochs) {
        return new LearningRateSchedule(rate, epochs, List.of());
    }

    /// Multiplies the rate by a constant in the epochs from `start` up to, not including, `end`.
    public LearningRateSchedule multiply(int start, int end, double multiplier) {
        return with(new Segment(start, end, true, epoch -> multiplier));
    }

    /// Multiplies the rate by a constant in the epochs from `start` on.
    public LearningRateSchedule multiplyFrom(int start, double multiplier) {
        return multiply(start, FOREVER, multiplier);
    }

    /// Multiplies the rate by `factor` once more in each epoch after `start`: `factor^(epoch -
    /// start)`.
    public LearningRateSchedule decay(int start, int end, double factor) {
        return with(new Segment(start, end, true, epoch -> Math.pow(factor, epoch - start)));
    }

    /// Multiplies the rate by what `multiplier` says of an epoch, once in each.
    public LearningRateSchedule staircase(int start, int end, DoubleUnaryOperator multiplier) {
        return with(new Segment(start, end, true, multiplier));
    }

    /// Multiplies the rate by what `multiplier` says of a moment, counted in epochs, at every
    /// update.
    public LearningRateSchedule smooth(int start, int end, DoubleUnaryOperator multiplier) {
        return with(new Segment(start, end, false, multiplier));
    }

    private LearningRateSchedule with(Segment next) {
        if (!segments.isEmpty() && segments.getLast().end > next.start) {
            throw new IllegalArgumentException(
                    "stretches come one after the other, but one goes to epoch %s and the next starts at %d"
                            .formatted(segments.getLast().endName(), next.start));
        }
        List<Segment> longer = new ArrayList<>(segments);
        longer.add(next);
        return new LearningRateSchedule(rate, epochs, List.copyOf(longer));
    }

    @Override
    public float getNewValue(int numUpdate) {
        Epochs.UpdatePosition updatePosition = epochs.positionOf(numUpdate);
        double multiplier = 1;
        for (Segment segment : segments) {
            if (segment.start <= updatePosition.epoch()) {
                multiplier = segment.multiplierAt(updatePosition);
            }
        }
        return (float) (rate * multiplier);
    }

    private record Segment(
            int start, int end, boolean isStaircase, DoubleUnaryOperator multiplier) {
        Segment {
            if (start < 0 || end <= start) {
                throw new IllegalArgumentException(
                        "a stretch of epochs from %d up to %d has none".formatted(start, end));
            }
        }

        double multiplierAt(Epochs.UpdatePosition updatePosition) {
            Epochs.UpdatePosition within =
                    updatePosition.epoch() < end
                            ? updatePosition
                            : new Epochs.UpdatePosition(
                                    end - 1,
                                    updatePosition.stepsPerEpoch() - 1,
                                    updatePosition.stepsPerEpoch());
            return multiplier.applyAsDouble(isStaircase ? within.epoch() : within.fraction());
        }

        String endName() {
            return end == FOREVER ? "infinity" : String.valueOf(end);
        }
    }
}
