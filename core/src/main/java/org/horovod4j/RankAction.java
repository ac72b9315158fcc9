package org.horovod4j;

import java.io.Serializable;

/// A [RankFunction] without a result.
@FunctionalInterface
public interface RankAction extends Serializable {
    /// Runs in the process of one rank, after [Hvd#init()].
    void run(Communicator communicator) throws Exception;
}
