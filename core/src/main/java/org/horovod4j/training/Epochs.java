package org.horovod4j.training;

/// Maps the number of an update to its epoch.
///
/// Learning rates are a function of the update number, from 1. The number of updates in an epoch
/// depends on the number of ranks. When a job resumes with another number of ranks, [#resumeAt] says
/// how many epochs and updates are complete.
public final class Epochs {
    private final int stepsPerEpoch;
    private volatile Offset offset = new Offset(0, 0);

    /// @param stepsPerEpoch updates in an epoch: the batches of one rank, divided by
    ///     `backwardPassesPerStep` if the optimizer accumulates gradients
    public Epochs(int stepsPerEpoch) {
        if (stepsPerEpoch < 1) {
            throw new IllegalArgumentException(
                    "an epoch has at least one step, not %d; give the number of batches of one rank"
                            .formatted(stepsPerEpoch));
        }
        this.stepsPerEpoch = stepsPerEpoch;
    }

    public int stepsPerEpoch() {
        return stepsPerEpoch;
    }

    /// Sets the start of the count: the next update is the first one of epoch `epoch`.
    ///
    /// @param epoch number of complete epochs
    /// @param updates number of updates in these epochs
    public void resumeAt(int epoch, int updates) {
        offset = new Offset(epoch, updates);
    }

    /// The position of an update in its epoch.
    ///
    /// @param update its number, from 1
    public UpdatePosition positionOf(int update) {
        Offset from = offset;
        int steps = update - 1 - from.updates;
        return new UpdatePosition(
                from.epoch + Math.floorDiv(steps, stepsPerEpoch),
                Math.floorMod(steps, stepsPerEpoch),
                stepsPerEpoch);
    }

    /// The position of an update.
    ///
    /// @param epoch from 0
    /// @param batch number within the epoch, from 0
    /// @param stepsPerEpoch updates in an epoch
    public record UpdatePosition(int epoch, int batch, int stepsPerEpoch) {
        /// The time before this update in epochs: 2.5 is the middle of the third epoch.
        public double fraction() {
            return epoch + (double) batch / stepsPerEpoch;
        }
    }

    private record Offset(int epoch, int updates) {}
}
