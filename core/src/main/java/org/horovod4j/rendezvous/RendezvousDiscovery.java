package org.horovod4j.rendezvous;

import org.horovod4j.ConfigurationException;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.security.Protection;
import org.horovod4j.security.UnreachableException;
import org.horovod4j.text.DurationFormat;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/// Finds the server that rank 0 published in a [RendezvousFolder].
///
/// The file may be left over from a run that was killed. So a server counts as found only when it
/// has proved that it knows the secret. Until then the rank keeps looking.
public final class RendezvousDiscovery {
    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /// Long enough to spare a file server when a thousand ranks look.
    private static final long MAX_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private final RendezvousFolder folder;
    private final String job;
    private final Duration limit;
    private final Protection protection;

    /// @param limit how long to look
    /// @param protection how connections to the server are protected
    public RendezvousDiscovery(
            RendezvousFolder folder, String job, Duration limit, Protection protection) {
        this.folder = folder;
        this.job = job;
        this.protection = protection;
        this.limit = limit;
    }

    /// The address and secret of a server that answers.
    ///
    /// @param who is looking, as in "rank 3 of 8"
    /// @param host the host of that rank
    /// @throws ConfigurationException when none is found in time, or the folder is not safe
    public RendezvousServerInfo await(String who, String host) {
        long deadline = System.nanoTime() + limit.toNanos();
        long pause = MIN_PAUSE_NANOS;
        while (true) {
            String found;
            try {
                Optional<RendezvousServerInfo> info =
                        folder.find(job).map(published -> published.withProtection(protection));
                if (info.isPresent()) {
                    connector(info.get()).probe();
                    return info.get();
                }
                found = "nothing";
            } catch (MalformedMessageException e) {
                found = "a file that this version cannot read: " + e.getMessage();
            } catch (UnreachableException e) {
                found = "the address of a server that does not answer\n" + e.getMessage();
            }
            if (System.nanoTime() - deadline >= 0) {
                throw notFound(who, host, found);
            }
            RendezvousConnector.pauseNanos(pause);
            pause = Math.min(2 * pause, MAX_PAUSE_NANOS);
        }
    }

    private RendezvousConnector connector(RendezvousServerInfo info) {
        return new RendezvousConnector(info.secret(), info.servers(), limit, limit);
    }

    private ConfigurationException notFound(String who, String host, String found) {
        return new ConfigurationException(
                """
                %s has waited %s for the file that rank 0 writes
                  looked for: %s, on host %s
                  found: %s
                Look at the output of rank 0. If it runs, the two hosts do not share this folder: set \
                HOROVOD_RENDEZVOUS_FOLDER to one that they share."""
                        .formatted(
                                who, DurationFormat.seconds(limit), folder.file(job), host, found));
    }
}
