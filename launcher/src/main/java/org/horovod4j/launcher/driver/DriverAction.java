package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.SequencedMap;

/// What a decision asks for.
public sealed interface DriverAction {
    /// Get a host ready, and tell how that went.
    record OpenHost(Host host) implements DriverAction {}

    /// Let go of a host, which has no workers any more.
    record ReleaseHost(String host) implements DriverAction {}

    record StartWorker(Worker worker) implements DriverAction {}

    /// Give these workers their places.
    ///
    /// @param slots by rank
    /// @param sync whether they get their state from rank 0 first
    record StartGeneration(int generation, SequencedMap<Worker, Slot> slots, boolean sync)
            implements DriverAction {
        public StartGeneration {
            slots = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(slots));
        }
    }

    /// Ask all workers to come back at their next commit.
    record RequestReset() implements DriverAction {}

    /// Tell a worker that waits for a place that it gets none.
    record DismissWorker(Worker worker, String reason) implements DriverAction {}

    record KillWorker(Worker worker) implements DriverAction {}

    /// End the job: it cannot go on.
    record AbortJob(String reason) implements DriverAction {}

    /// Tell the user of a decision.
    record Info(String text) implements DriverAction {}

    /// The same for users who want to know all.
    record Verbose(String text) implements DriverAction {}
}
