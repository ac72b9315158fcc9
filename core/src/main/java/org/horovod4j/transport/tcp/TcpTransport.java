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

/// The channels of one rank over TCP. They share one listener; each channel has its own
/// connections.
///
/// Of two ranks the higher one connects. The lower one accepts at any time, on its own thread, even
/// before it needs the link. So a connecting rank never waits for another rank's program. Only
/// lower ranks wait for higher ones, which rules out a cycle of waiting ranks.
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
        // The timeout covers the start of a rank: on a host with many ranks all are slow at first.
        Handshake initiating = new Handshake(secret, Purpose.LINK, timeout);
        this.timeout = timeout;
        this.addresses = addresses;
        this.pending = new PendingConnections(rank);
        this.connector =
                new Connector(
                        rank,
                        new OutboundConnector(initiating, tuning.sockets(), timeout),
                        pending,
                        timeout,
                        tuning);
        this.acceptor =
                Acceptor.open(
                        addresses.bindAddresses(0),
                        new Handshake(secret, Purpose.LINK),
                        tuning.sockets(),
                        new RefusedConnectionLog(LOGGER),
                        this::handleConnection);
    }

    /// Listens at all addresses of this host.
    public static TcpTransport listen(Secret secret, int rank, Duration timeout, TcpTuning tuning) {
        return listen(secret, rank, LocalAddresses.all(), timeout, tuning);
    }

    /// Listens on a free port.
    ///
    /// @param addresses the addresses of this host at which to listen, and to publish
    /// @param timeout how long a peer may take to answer
    /// @throws ConfigurationException if it cannot listen
    public static TcpTransport listen(
            Secret secret, int rank, LocalAddresses addresses, Duration timeout, TcpTuning tuning) {
        return new TcpTransport(secret, rank, addresses, timeout, tuning);
    }

    /// The addresses of this rank's listener, the most likely one first, for its [RankInfo].
    public List<InetSocketAddress> addresses() {
        return addresses.withPort(acceptor.address().getPort());
    }

    /// Sets the ranks to which links can be opened.
    ///
    /// @param world identifies the world, to reject connections of others
    public void setMembers(List<RankInfo> members, long world) {
        connector.setPeers(members, world);
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
            pending.close(); // no channel can be opened from here on
            last = List.copyOf(channels.values());
        }
        last.forEach(TcpLinks::close);
    }

    /// Answers a connecting rank that has passed the handshake.
    private void handleConnection(SecureConnection stream) {
        boolean kept = false;
        try {
            DeadlineReader in = new DeadlineReader(stream, timeout);
            LinkHello hello = LinkHello.decode(in.read(LinkHello.BYTE_SIZE));
            LinkHelloStatus status = pending.check(hello);
            stream.output().write(status.code());
            if (status == LinkHelloStatus.ACCEPTED && in.read(1)[0] == LinkHello.CONFIRMED) {
                stream.channel().configureBlocking(false);
                kept = pending.add(hello, stream);
            }
        } catch (IOException e) {
            // Normal: the connecting rank has reached us at another address first.
            LOGGER.log(Level.DEBUG, "Incoming connection closed before its hello was confirmed", e);
        } finally {
            if (!kept) {
                TcpLink.closeQuietly(stream);
            }
        }
    }
}
