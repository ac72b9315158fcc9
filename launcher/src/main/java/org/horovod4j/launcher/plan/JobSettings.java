package org.horovod4j.launcher.plan;

import org.horovod4j.option.ElasticOptions;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/// The settings of a job that do not depend on its program and ranks.
///
/// @param id marks the processes of this job and everything they start
/// @param secret proves that a process belongs to it, and says whether connections are encrypted
/// @param networkInterfaces which its ranks may use; empty for all
public record JobSettings(
        String id,
        Secret secret,
        Duration heartbeatTimeout,
        Duration startTimeout,
        Duration elasticTimeout,
        List<String> networkInterfaces) {
    public JobSettings {
        networkInterfaces = List.copyOf(networkInterfaces);
    }

    /// A new job, with the settings of the environment.
    public static JobSettings of(Map<String, String> environment) {
        return read(UUID.randomUUID().toString(), Secret.random(), environment);
    }

    /// The same job, with the settings of another environment.
    public JobSettings with(Map<String, String> environment) {
        return read(id, secret, environment);
    }

    private static JobSettings read(String id, Secret secret, Map<String, String> environment) {
        Environment options = new Environment(environment);
        return new JobSettings(
                id,
                secret.withProtection(Protection.of(options.get(Options.TLS))),
                options.get(Options.HEARTBEAT_TIMEOUT),
                options.get(Options.START_TIMEOUT),
                options.get(ElasticOptions.TIMEOUT),
                WorkerSettings.interfaces(options));
    }

    /// Marks the environment of each process of the job, in the form `NAME=value`.
    public String jobVariable() {
        return Options.JOB_ID.variable() + "=" + id;
    }
}
