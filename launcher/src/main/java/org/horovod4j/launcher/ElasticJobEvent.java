package org.horovod4j.launcher;

import org.horovod4j.launcher.driver.DriverEvent;
import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.process.ExitStatus;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.Signal;

/// What an [ElasticJob] hears of.
sealed interface ElasticJobEvent {
    /// Something that only a decision is needed for.
    record ForDriver(DriverEvent driverEvent) implements ElasticJobEvent {}

    /// An agent fell silent. The host of that name may have another one by now.
    record HostLost(String host, HostAgent agent, String reason) implements ElasticJobEvent {}

    record Started(WorkerProcess process) implements ElasticJobEvent {}

    record NotStarted(Worker worker, String reason) implements ElasticJobEvent {}

    record Exited(WorkerProcess process, ExitStatus exitStatus) implements ElasticJobEvent {}

    /// A signal of the launcher's own.
    record Interrupted(Signal signal) implements ElasticJobEvent {}
}
