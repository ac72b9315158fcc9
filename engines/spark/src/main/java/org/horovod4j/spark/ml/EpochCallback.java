package org.horovod4j.spark.ml;

import org.horovod4j.Communicator;

import java.io.Serializable;
import java.util.Map;

/// Called on all ranks after each epoch. Spark serializes it.
@FunctionalInterface
public interface EpochCallback extends Serializable {
    /// Called on this rank when it has completed an epoch and the epoch's
    /// checkpoint, if one is kept, is in the store.
    ///
    /// @param epoch from 1
    /// @param metrics of all ranks, such as `loss` and `val_loss`; the same on all ranks
    void epochDone(Communicator communicator, int epoch, Map<String, Double> metrics)
            throws Exception;
}
