package org.horovod4j.security;

import org.horovod4j.security.HandshakeException.Reason;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.util.HashSet;
import java.util.Set;

/// Logs refused connections once for each address and reason.
///
/// A port scanner or health check that connects every second would otherwise fill the job's log.
/// The memory is bounded too: a flood from many addresses ends with one last line.
public final class RefusedConnectionLog {
    static final int CAPACITY = 256;

    private final Logger logger;
    private final Set<Refusal> reported = new HashSet<>();

    public RefusedConnectionLog(Logger logger) {
        this.logger = logger;
    }

    private record Refusal(InetAddress remote, Reason reason) {}

    /// Logs that a connection from `remote` was refused, unless that was logged already.
    public synchronized void refused(InetAddress remote, HandshakeException reason) {
        if (reported.size() > CAPACITY || !reported.add(new Refusal(remote, reason.reason()))) {
            return;
        }
        if (reported.size() > CAPACITY) {
            logger.log(
                    Level.WARNING,
                    "Refused connections from {0} sources; more will not be reported.",
                    CAPACITY);
            return;
        }
        logger.log(
                Level.WARNING,
                "Refused a connection: {0} {1}. The job continues; this is logged once.",
                remote.getHostAddress(),
                reason.getMessage());
    }
}
