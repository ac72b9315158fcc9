package org.horovod4j.launcher;

import org.horovod4j.launcher.elastic.Event;
import org.horovod4j.launcher.elastic.Worker;
import org.horovod4j.launcher.process.Ending;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.Signal;

/// What an [ElasticJob] hears of.
sealed interface ElasticNews {
    /// Something that only a decision is needed for.
    record Happened(Event event) implements ElasticNews {}

    /// An agent fell silent. The host of that name may have another one by now.
    record HostLost(String host, HostAgent agent, String reason) implements ElasticNews {}

    record Started(WorkerProcess process) implements ElasticNews {}

    record NotStarted(Worker worker, String reason) implements ElasticNews {}

    record Exited(WorkerProcess process, Ending ending) implements ElasticNews {}

    /// A signal of the launcher's own.
    record Interrupted(Signal signal) implements ElasticNews {}
}
