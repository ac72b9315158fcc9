package org.horovod4j.rendezvous;

import org.horovod4j.ConfigurationException;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.security.Protection;
import org.horovod4j.security.UnreachableException;
import org.horovod4j.text.DurationFormat;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/// How a rank finds the server that rank 0 tells of in a [RendezvousFolder].
///
/// What it finds there may be left over from a run that was killed. So a server counts as found
/// when it has proved that it knows the secret; until then the rank keeps looking.
public final class RendezvousDiscovery {
    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /// Seldom enough for a file server when a thousand ranks look.
    private static final long MAX_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private final RendezvousFolder folder;
    private final String job;
    private final Duration limit;
    private final Protection protection;

    /// @param limit how long to look
    /// @param protection what connections to the server are protected by
    public RendezvousDiscovery(
            RendezvousFolder folder, String job, Duration limit, Protection protection) {
        this.folder = folder;
        this.job = job;
        this.protection = protection;
        this.limit = limit;
    }

    /// The invitation to a server that answers.
    ///
    /// @param who is looking, as in "rank 3 of 8"
    /// @param host where
    /// @throws ConfigurationException when there is none in time, or the folder is not safe
    public RendezvousServerInfo await(String who, String host) {
        long deadline = System.nanoTime() + limit.toNanos();
        long pause = MIN_PAUSE_NANOS;
        while (true) {
            String found;
            try {
                Optional<RendezvousServerInfo> invitation =
                        folder.find(job).map(it -> it.withProtection(protection));
                if (invitation.isPresent()) {
                    connector(invitation.get()).probe();
                    return invitation.get();
                }
                found = "nothing";
            } catch (MalformedMessageException e) {
                found = "what is no invitation of this version: " + e.getMessage();
            } catch (UnreachableException e) {
                found = "an invitation to a server that does not answer\n" + e.getMessage();
            }
            if (System.nanoTime() - deadline >= 0) {
                throw notFound(who, host, found);
            }
            RetryDelay.parkNanos(pause);
            pause = Math.min(2 * pause, MAX_PAUSE_NANOS);
        }
    }

    private RendezvousConnector connector(RendezvousServerInfo rendezvousServerInfo) {
        return new RendezvousConnector(
                rendezvousServerInfo.secret(), rendezvousServerInfo.servers(), limit);
    }

    private ConfigurationException notFound(String who, String host, String found) {
        return new ConfigurationException(
                """
                %s has waited %s for word from rank 0
                  looked for: %s, on host %s
                  found: %s
                Look at the output of rank 0. If it runs, its host and this one share no such folder: set \
                HOROVOD_RENDEZVOUS_FOLDER to one that they share."""
                        .formatted(
                                who, DurationFormat.seconds(limit), folder.file(job), host, found));
    }
}
