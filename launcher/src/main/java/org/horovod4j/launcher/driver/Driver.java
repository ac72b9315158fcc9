package org.horovod4j.launcher.driver;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/// Decides what a job does next: [FixedDriver] for a fixed number of ranks, [ElasticDriver] for
/// workers that come and go.
///
/// A driver does no I/O. The thread that runs the job owns it.
public interface Driver {
    /// Why a worker on a lost host counts as failed.
    String HOST_LOST = "contact with its host was lost";

    /// The first worker that failed.
    ///
    /// @param name the worker in messages, as in "rank 2 on node2 (process 256)"
    /// @param reason "exit code 3", "killed by signal 9 (SIGKILL)"
    record Failure(Worker worker, String name, String reason) {}

    /// Takes an event and returns what to do, in this order.
    ///
    /// @param now the time since the start of the job; never decreases
    List<DriverAction> handle(DriverEvent event, Duration now);

    /// Whether no worker is left and none will be started.
    boolean isOver();

    /// The failure to report to the user, if the job failed.
    Optional<Failure> failure();

    /// Whether a failed worker is replaced while the job runs. What it started is then killed at
    /// once: it may hold a device.
    boolean replacesFailedWorkers();
}
