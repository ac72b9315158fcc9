package org.horovod4j.testing;

import org.horovod4j.Communicator;
import org.horovod4j.Tensor;

import java.util.function.IntFunction;

/// One operation of a [Workload]: how a rank starts it, and what it should give.
///
/// @param what for messages
/// @param starter starts it on a rank
/// @param results what each rank should get
record WorkloadStep(String what, Starter starter, IntFunction<Tensor> results) {
    /// Starts an operation, and returns how to wait for it.
    interface Starter {
        Running start(Communicator communicator, String name);
    }

    /// An operation that may still be under way.
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
