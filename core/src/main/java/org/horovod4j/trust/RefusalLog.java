package org.horovod4j.trust;

import org.horovod4j.trust.RefusedException.Reason;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.util.HashSet;
import java.util.Set;

/// Tells of refused connections once for each address and reason.
///
/// A port scanner or a health check that knocks every second would otherwise bury the job's own
/// log. The memory is bounded too: a flood from many addresses ends with one last line.
public final class RefusalLog {
    static final int CAPACITY = 256;

    private final Logger logger;
    private final Set<Case> told = new HashSet<>();

    public RefusalLog(Logger logger) {
        this.logger = logger;
    }

    private record Case(InetAddress remote, Reason reason) {}

    /// Tells that a connection from `remote` was refused, unless that was told already.
    public synchronized void refused(InetAddress remote, RefusedException why) {
        if (told.size() > CAPACITY || !told.add(new Case(remote, why.reason()))) {
            return;
        }
        if (told.size() > CAPACITY) {
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
