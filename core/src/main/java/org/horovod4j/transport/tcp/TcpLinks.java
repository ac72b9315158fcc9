package org.horovod4j.transport.tcp;

import org.horovod4j.ConfigurationException;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Liveness;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// The links of one channel. Each link has one or more connections and is opened on first use.
final class TcpLinks implements Links {
    private final int channel;
    private final Connector connector;
    private final Liveness liveness;
    private final Runnable onClose;
    private final Map<Integer, TcpLink> links = new HashMap<>();
    private long epoch;
    private int streams;
    private boolean closed;

    TcpLinks(int channel, Connector connector, Liveness liveness, Runnable onClose) {
        this.channel = channel;
        this.connector = connector;
        this.liveness = liveness;
        this.onClose = onClose;
    }

    /// {@inheritDoc}
    ///
    /// @throws ConfigurationException if the peer cannot be reached at any of its addresses
    /// @throws LinkBrokenException if the links were reset or closed in the meantime, on either
    ///     side
    @Override
    public Link link(int peer) {
        Connector.LinkRequest linkRequest;
        synchronized (this) {
            TcpLink open = links.get(peer);
            if (open != null) {
                return open;
            }
            if (closed) {
                throw linkNotCurrent(peer);
            }
            linkRequest = new Connector.LinkRequest(channel, epoch, peer, streams);
        }
        List<SecureConnection> opened =
                connector.connect(linkRequest, liveness, () -> isCurrent(linkRequest.epoch()));
        return install(new TcpLink(peer, opened), linkRequest.epoch());
    }

    @Override
    public synchronized void reset() {
        closeLinks();
        epoch++;
        connector.advance(channel, epoch);
    }

    @Override
    public synchronized void useStreams(int streams) {
        if (streams != 0) {
            TcpTuning.check(streams);
        }
        this.streams = streams;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            closeLinks();
            onClose.run();
        }
    }

    static LinkBrokenException linkNotCurrent(int peer) {
        return new LinkBrokenException(
                peer,
                "opening a link to rank " + peer + ": this rank has reset or closed its links",
                null);
    }

    private void closeLinks() {
        links.values().forEach(TcpLink::close);
        links.clear();
    }

    private synchronized Link install(TcpLink link, long linkEpoch) {
        TcpLink present = links.get(link.peer());
        if (present != null || !isCurrent(linkEpoch)) {
            link.close();
            if (present == null) {
                throw linkNotCurrent(link.peer());
            }
            return present;
        }
        links.put(link.peer(), link);
        return link;
    }

    private synchronized boolean isCurrent(long linkEpoch) {
        return !closed && epoch == linkEpoch;
    }
}
