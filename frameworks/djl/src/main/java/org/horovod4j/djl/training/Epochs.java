package org.horovod4j.djl.training;

/// Tells from the number of an update which epoch it belongs to, for everything that goes by
/// epochs.
///
/// DJL's trackers are asked for a value by the number of an update, from 1. How many updates make
/// an epoch depends on the number of ranks, which may change when a job resumes: [#resumeAt] says
/// where the count stood then.
public final class Epochs {
    private final int stepsPerEpoch;
    private volatile Offset offset = new Offset(0, 0);

    /// @param stepsPerEpoch updates of an epoch; `ShardedSampler.stepsPerEpoch` knows it, to be
    ///     divided by `backwardPassesPerStep` where an optimizer has that, as it updates once in so
    ///     many batches
    public Epochs(int stepsPerEpoch) {
        if (stepsPerEpoch < 1) {
            throw new IllegalArgumentException(
                    "an epoch has at least one step, not %d; give the batches that each rank trains on"
                            .formatted(stepsPerEpoch));
        }
        this.stepsPerEpoch = stepsPerEpoch;
    }

    public int stepsPerEpoch() {
        return stepsPerEpoch;
    }

    /// Counts on from here: the next update is the first of this epoch.
    ///
    /// @param epoch epochs that are complete
    /// @param updates updates that the optimizer has made in them
    public void resumeAt(int epoch, int updates) {
        offset = new Offset(epoch, updates);
    }

    /// The place of an update.
    ///
    /// @param update from 1
    public UpdatePosition positionOf(int update) {
        Offset from = offset;
        int steps = update - 1 - from.updates;
        return new UpdatePosition(
                from.epoch + Math.floorDiv(steps, stepsPerEpoch),
                Math.floorMod(steps, stepsPerEpoch),
                stepsPerEpoch);
    }

    /// An update within its epoch.
    ///
    /// @param epoch from 0
    /// @param batch of the epoch, from 0
    /// @param stepsPerEpoch of the epoch
    public record UpdatePosition(int epoch, int batch, int stepsPerEpoch) {
        /// The epoch, with the part of it that lies before this update.
        public double fraction() {
            return epoch + (double) batch / stepsPerEpoch;
        }
    }

    private record Offset(int epoch, int updates) {}
}
