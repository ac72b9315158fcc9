package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.SequencedMap;

/// What a [Driver] has decided to do.
public sealed interface DriverAction {
    /// Make a host ready, and report [DriverEvent.HostOpened] or [DriverEvent.HostNotReady].
    record OpenHost(Host host) implements DriverAction {}

    /// Close the connection to a host that has no workers left.
    record ReleaseHost(String host) implements DriverAction {}

    record StartWorker(Worker worker) implements DriverAction {}

    /// Give these workers their ranks.
    ///
    /// @param slots by rank
    /// @param sync whether they first get the state of rank 0
    record StartGeneration(int generation, SequencedMap<Worker, Slot> slots, boolean sync)
            implements DriverAction {
        public StartGeneration {
            slots = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(slots));
        }
    }

    /// Ask all workers to return at their next commit.
    record RequestReset() implements DriverAction {}

    /// Tell a worker that waits for a place that it gets none.
    record DismissWorker(Worker worker, String reason) implements DriverAction {}

    record KillWorker(Worker worker) implements DriverAction {}

    /// End the job because a worker has failed. The others first get time to exit by themselves.
    record FailJob() implements DriverAction {}

    /// End the job now: it cannot continue.
    record AbortJob(String reason) implements DriverAction {}

    /// End the job now: a worker could not be started.
    record AbortStart(String reason) implements DriverAction {}

    /// Print a message.
    record Info(String text) implements DriverAction {}

    /// Print a message if `--verbose` is given.
    record Verbose(String text) implements DriverAction {}
}
