package org.horovod4j.launcher;

import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.plan.Slot;

import java.util.Map;
import java.util.SequencedMap;

/// What a job does for its workers while they run: [FixedLaunch] has one implementation,
/// [ElasticLaunch] the other.
///
/// The thread that runs the job calls it, except for [#variables].
interface WorkerServices {
    /// The environment variables of the process of a worker. Thread-safe.
    ///
    /// @param remote whether the worker runs on another host
    Map<String, String> variables(Worker worker, boolean remote);

    /// Tells the other ranks how the process of a worker exited.
    void reportExit(Worker worker, String how);

    /// Tells the other ranks that a worker is out of reach, even if its connection seems open.
    void reportLoss(Worker worker, String how);

    /// Called before all processes get a signal from the user: losses are then no failures.
    void jobIsEnding();

    /// Gives workers their ranks. Elastic jobs only, like the methods below.
    ///
    /// @param slots by rank
    /// @param sync whether they first get the state of rank 0
    default void startGeneration(int generation, SequencedMap<Worker, Slot> slots, boolean sync) {
        throw notElastic();
    }

    /// Asks all workers to return at their next commit.
    default void requestReset() {
        throw notElastic();
    }

    /// Tells a worker that it gets no place.
    default void dismiss(Worker worker, String reason) {
        throw notElastic();
    }

    private static IllegalStateException notElastic() {
        return new IllegalStateException("the workers of a fixed job do not change");
    }
}
