package org.horovod4j.testing;

import org.horovod4j.Communicator;
import org.horovod4j.Tensor;

import java.util.function.IntFunction;

/// One operation of a [RandomWorkload].
///
/// @param what a description for messages
/// @param starter starts it on a rank
/// @param results the expected result of each rank
record WorkloadStep(String what, Starter starter, IntFunction<Tensor> results) {
    /// Starts an operation, and returns how to wait for it.
    interface Starter {
        Running start(Communicator communicator, String name);
    }

    /// An operation that may still be pending.
    interface Running {
        Tensor join();
    }

    Running start(Communicator communicator, String name) {
        return starter.start(communicator, name);
    }

    Tensor expected(int rank) {
        return results.apply(rank);
    }

    @Override
    public String toString() {
        return what;
    }
}
