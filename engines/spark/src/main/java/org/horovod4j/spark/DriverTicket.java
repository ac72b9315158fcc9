package org.horovod4j.spark;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.apache.spark.SecurityManager;
import org.apache.spark.SparkEnv;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;

import java.io.Serializable;
import java.time.Duration;

/// What a task needs to reach the driver. It is part of the closure, so it has no secret of the job.
///
/// The ticket is random. A connection to the driver is made with a secret derived from the ticket
/// and from Spark's own authentication secret, which both ends have if `spark.authenticate` is true.
/// Over that connection, which is always encrypted, the driver sends the secret of the job: once to
/// each task, and to none after the last has come.
///
/// @param host of the driver
/// @param port of its [TaskServer]
/// @param startTimeout how long to try to connect
record DriverTicket(
        String host, int port, String ticket, Duration heartbeatTimeout, Duration startTimeout)
        implements Serializable {
    static Secret newTicket() {
        return Secret.random();
    }

    /// The secret of a connection between task and driver. To be called in a JVM of Spark.
    static Secret connectionSecret(Secret ticket) {
        SecurityManager spark = SparkEnv.get().securityManager();
        String shared = spark.isAuthenticationEnabled() ? spark.getSecretKey() : "";
        return ticket.derive(shared.getBytes(UTF_8)).withProtection(Protection.ENCRYPTED);
    }

    Secret connectionSecret() {
        return connectionSecret(Secret.decode(ticket));
    }
}
