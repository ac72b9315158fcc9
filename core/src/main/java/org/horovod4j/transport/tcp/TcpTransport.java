package org.horovod4j.transport.tcp;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.Log;
import org.horovod4j.network.LocalAddresses;
import org.horovod4j.security.Acceptor;
import org.horovod4j.security.DeadlineReader;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.RefusedConnectionLog;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.LinkTransport;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Liveness;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// The channels of one rank over TCP: one listener for all of them, and connections that are each
/// channel's own.
///
/// Of two ranks the higher one dials. The lower one answers at any time, on a thread of its own,
/// whether it has asked for the link or not; so a dialler never waits for another rank's program,
/// only lower ranks wait for higher ones, and no circle of ranks can wait for each other.
public final class TcpTransport implements LinkTransport {
    private static final Logger LOGGER = Log.of(TcpTransport.class);

    private final Duration timeout;
    private final PendingConnections pending;
    private final Acceptor acceptor;
    private final LocalAddresses addresses;
    private final Connector connector;
    private final Map<Integer, TcpLinks> channels = new ConcurrentHashMap<>();

    private TcpTransport(
            Secret secret, int rank, LocalAddresses addresses, Duration timeout, TcpTuning tuning) {
        // As long as a rank may take to start: on a host with many of them, all are slow at first.
        Handshake handshake = new Handshake(secret, Purpose.LINK, timeout);
        this.timeout = timeout;
        this.addresses = addresses;
        this.pending = new PendingConnections(rank);
        this.connector =
                new Connector(
                        rank,
                        new OutboundConnector(handshake, tuning.sockets(), timeout),
                        pending,
                        timeout,
                        tuning);
        this.acceptor =
                Acceptor.open(
                        new InetSocketAddress(0),
                        handshake,
                        tuning.sockets(),
                        new RefusedConnectionLog(LOGGER),
                        this::handleConnection);
    }

    /// Like the other, and tells all addresses of this host.
    public static TcpTransport listen(Secret secret, int rank, Duration timeout, TcpTuning tuning) {
        return listen(secret, rank, LocalAddresses.all(), timeout, tuning);
    }

    /// Listens on a free port, for IPv4 and IPv6.
    ///
    /// @param addresses those of this host's that other ranks are to know
    /// @param timeout how long a dialled rank may take to answer
    /// @throws ConfigurationException when it cannot listen
    public static TcpTransport listen(
            Secret secret, int rank, LocalAddresses addresses, Duration timeout, TcpTuning tuning) {
        return new TcpTransport(secret, rank, addresses, timeout, tuning);
    }

    /// Where this rank might be reached, likeliest first: for its [RankInfo] card.
    public List<InetSocketAddress> addresses() {
        return addresses.withPort(acceptor.address().getPort());
    }

    /// Introduces the ranks that links may be asked for.
    ///
    /// @param world tells this meeting from others of the same processes
    public void setMembers(List<RankInfo> members, long world) {
        connector.setPeers(new Peers(members, world));
        pending.setWorld(world);
    }

    @Override
    public synchronized Links open(int id, Liveness liveness) {
        pending.open(id);
        TcpLinks links = new TcpLinks(id, connector, liveness, () -> close(id));
        channels.put(id, links);
        return links;
    }

    private void close(int id) {
        pending.close(id);
        channels.remove(id);
    }

    @Override
    public void close() {
        acceptor.close();
        List<TcpLinks> last;
        synchronized (this) {
            pending.close(); // so that no channel opens any more
            last = List.copyOf(channels.values());
        }
        last.forEach(TcpLinks::close);
    }

    /// Answers a caller that has passed the handshake.
    private void handleConnection(SecureConnection stream) {
        boolean kept = false;
        try {
            DeadlineReader in = new DeadlineReader(stream, timeout);
            LinkHello linkHello = LinkHello.decode(in.read(LinkHello.BYTE_SIZE));
            LinkHelloStatus linkHelloStatus = pending.check(linkHello);
            stream.output().write(linkHelloStatus.code());
            if (linkHelloStatus == LinkHelloStatus.ACCEPTED
                    && in.read(1)[0] == LinkHello.CONFIRMED) {
                stream.channel().configureBlocking(false);
                kept = pending.add(linkHello, stream);
            }
        } catch (IOException e) {
            // Usual: the caller has reached us by another address too, and needs but one.
            LOGGER.log(Level.DEBUG, "Incoming connection closed before its hello was confirmed", e);
        } finally {
            if (!kept) {
                TcpLink.closeQuietly(stream);
            }
        }
    }
}
