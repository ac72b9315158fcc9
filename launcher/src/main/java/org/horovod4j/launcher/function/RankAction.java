package org.horovod4j.launcher.function;

import org.horovod4j.Communicator;

import java.io.Serializable;

/// What each rank of a launched job does, where nothing is returned; see [RankFunction].
@FunctionalInterface
public interface RankAction extends Serializable {
    /// Runs in the process of one rank, where `Hvd` is initialised too.
    void run(Communicator communicator) throws Exception;
}
