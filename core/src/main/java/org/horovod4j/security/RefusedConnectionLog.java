package org.horovod4j.security;

import org.horovod4j.security.HandshakeException.Reason;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.util.HashSet;
import java.util.Set;

/// Tells of refused connections once for each address and reason.
///
/// A port scanner or a health check that knocks every second would otherwise bury the job's own
/// log. The memory is bounded too: a flood from many addresses ends with one last line.
public final class RefusedConnectionLog {
    static final int CAPACITY = 256;

    private final Logger logger;
    private final Set<Refusal> reported = new HashSet<>();

    public RefusedConnectionLog(Logger logger) {
        this.logger = logger;
    }

    private record Refusal(InetAddress remote, Reason reason) {}

    /// Tells that a connection from `remote` was refused, unless that was told already.
    public synchronized void refused(InetAddress remote, HandshakeException why) {
        if (reported.size() > CAPACITY || !reported.add(new Refusal(remote, why.reason()))) {
            return;
        }
        if (reported.size() > CAPACITY) {
            logger.log(
                    Level.WARNING,
                    "Refused connections for {0} reasons; more will not be reported.",
                    CAPACITY);
            return;
        }
        logger.log(
                Level.WARNING,
                "Refused a connection: {0} {1}. The job goes on; this is said once.",
                remote.getHostAddress(),
                why.getMessage());
    }
}
