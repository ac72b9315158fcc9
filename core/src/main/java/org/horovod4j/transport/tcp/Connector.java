package org.horovod4j.transport.tcp;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.Log;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.security.UnreachableException;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.IdleStrategy;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Liveness;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/// Establishes connections for all channels of a rank: connects to lower ranks, waits for higher
/// ranks.
final class Connector {
    private static final Logger LOGGER = Log.of(Connector.class);

    private final int rank;
    private final OutboundConnector outbound;
    private final PendingConnections pending;
    private final Duration timeout;
    private final TcpTuning tuning;
    private final AtomicLong attemptCount = new AtomicLong();
    private volatile @Nullable Peers peers;
    private volatile boolean networkReported;

    Connector(
            int rank,
            OutboundConnector outboundConnector,
            PendingConnections pendingConnections,
            Duration timeout,
            TcpTuning tuning) {
        this.rank = rank;
        this.outbound = outboundConnector;
        this.pending = pendingConnections;
        this.timeout = timeout;
        this.tuning = tuning;
    }

    /// Sets the ranks to which links can be opened.
    ///
    /// @param worldId identifies this world among those of the same processes
    void setPeers(List<RankInfo> members, long worldId) {
        peers = new Peers(List.copyOf(members), worldId);
    }

    private record Peers(List<RankInfo> members, long worldId) {}

    /// A link to open.
    ///
    /// @param epoch how often the channel was reset
    /// @param streams the number of connections, if this rank connects; 0 for the default
    record LinkRequest(int channel, long epoch, int peer, int streams) {}

    /// Opens the streams of a link. They are in order and non-blocking.
    ///
    /// @param liveness ends the wait for a rank that is gone
    /// @param current whether the link is still needed
    /// @throws ConfigurationException if the peer cannot be reached at any of its addresses
    /// @throws LinkBrokenException if the peer rejects the connection, or the link is no longer
    ///     needed
    List<SecureConnection> connect(
            LinkRequest linkRequest, Liveness liveness, BooleanSupplier current) {
        Peers known = peers;
        int peer = linkRequest.peer;
        if (known == null || peer == rank || peer < 0 || peer >= known.members().size()) {
            throw new IllegalArgumentException("rank " + rank + " has no peer " + peer);
        }
        List<SecureConnection> streams =
                rank > peer
                        ? connectToPeer(known, linkRequest, liveness)
                        : awaitPeer(known, linkRequest, liveness, current);
        LOGGER.log(
                Level.DEBUG,
                () ->
                        "Link to rank %d (%s) on channel %d: TCP, %d streams, %s"
                                .formatted(
                                        peer,
                                        known.members().get(peer).host(),
                                        linkRequest.channel,
                                        streams.size(),
                                        streams.getFirst().channel()));
        return streams;
    }

    /// Discards connections of epochs before `epoch`.
    void advance(int channel, long epoch) {
        pending.advance(channel, epoch);
    }

    private List<SecureConnection> connectToPeer(
            Peers known, LinkRequest linkRequest, Liveness liveness) {
        int peer = linkRequest.peer;
        RankInfo self = known.members().get(rank);
        RankInfo other = known.members().get(peer);
        boolean local = self.host().equals(other.host());
        int streams = linkRequest.streams == 0 ? tuning.streams(local) : linkRequest.streams;
        long number = attemptCount.getAndIncrement();
        LinkHello linkHello =
                new LinkHello(
                        known.worldId(),
                        linkRequest.channel,
                        linkRequest.epoch,
                        rank,
                        peer,
                        number,
                        0,
                        streams);
        try {
            List<InetSocketAddress> candidates = candidates(other, local);
            List<SecureConnection> opened = outbound.connect(linkHello, candidates, liveness);
            if (isFirstBeyondRankZero(known.members(), self) && !networkReported) {
                networkReported = true;
                reportNetwork(other, candidates, opened.getFirst());
            }
            return opened;
        } catch (UnreachableException e) {
            liveness.check(); // if the peer is known to be gone, report that instead
            Optional<LinkHelloStatus.RejectedException> rejected = rejection(e);
            if (rejected.isPresent()) {
                String why = rejected.get().getMessage();
                throw new LinkBrokenException(peer, "connecting to rank " + peer + ": " + why, e);
            }
            throw new ConfigurationException(
                    """
                    opening a TCP link from rank %d (%s) to rank %d (%s): none of its addresses works
                    %s
                    Check that no firewall blocks connections between the two hosts."""
                            .formatted(rank, self.host(), peer, other.host(), e.getMessage()),
                    e);
        } catch (IOException e) {
            throw new LinkBrokenException(
                    peer, "connecting to rank " + peer + " failed: " + e.getMessage(), e);
        }
    }

    /// The addresses to try, in order. Loopback addresses work only within a host, where they come
    /// first: a local connection uses loopback anyway. A peer that has only loopback addresses must
    /// be on this host, even if its host name differs.
    private static List<InetSocketAddress> candidates(RankInfo other, boolean local) {
        List<InetSocketAddress> loopback = new ArrayList<>();
        List<InetSocketAddress> others = new ArrayList<>();
        for (InetSocketAddress each : other.addresses()) {
            boolean isLoopback = !each.isUnresolved() && each.getAddress().isLoopbackAddress();
            (isLoopback ? loopback : others).add(each);
        }
        if (local || others.isEmpty()) {
            loopback.addAll(others);
            return loopback;
        }
        return others;
    }

    /// Whether this is the first rank on another host than rank 0. It connects to rank 0 at the
    /// start, and reports for the job which network is used.
    private static boolean isFirstBeyondRankZero(List<RankInfo> members, RankInfo self) {
        String host = members.getFirst().host();
        return members.stream()
                .filter(member -> !member.host().equals(host))
                .findFirst()
                .filter(self::equals)
                .isPresent();
    }

    /// Logs which of several networks is used. The first that works is taken, and only the user
    /// knows which one is the fastest.
    private void reportNetwork(
            RankInfo other, List<InetSocketAddress> candidates, SecureConnection opened)
            throws IOException {
        List<String> networks =
                candidates.stream()
                        .map(InetSocketAddress::getAddress)
                        .filter(Inet4Address.class::isInstance)
                        .filter(address -> !isOnThisHost(address))
                        .map(InetAddress::getHostAddress)
                        .toList();
        if (networks.size() > 1
                && opened.channel().getRemoteAddress() instanceof InetSocketAddress used) {
            LOGGER.log(
                    Level.WARNING,
                    "The hosts share several networks. Rank %d reaches %s at %s; its addresses are %s. Name the interfaces of the fastest network with --network-interfaces (HOROVOD_NETWORK_INTERFACES)."
                            .formatted(
                                    rank,
                                    other.host(),
                                    used.getAddress().getHostAddress(),
                                    String.join(", ", networks)));
        }
    }

    /// The address of a container network is the same on every host, and no way to another.
    private static boolean isOnThisHost(InetAddress address) {
        try {
            return NetworkInterface.getByInetAddress(address) != null;
        } catch (SocketException e) {
            return false;
        }
    }

    /// The answer of the intended rank, if it was reached and rejected the connection.
    private static Optional<LinkHelloStatus.RejectedException> rejection(UnreachableException e) {
        return e.attempts().stream()
                .map(attempt -> attempt.failure())
                .filter(LinkHelloStatus.RejectedException.class::isInstance)
                .map(LinkHelloStatus.RejectedException.class::cast)
                .filter(rejection -> rejection.status() != LinkHelloStatus.WRONG_RANK)
                .findFirst();
    }

    /// Waits without a timeout, because a rank may reach its first collective late for good
    /// reasons. If the peer cannot reach this rank, the peer fails, and `liveness` ends this wait.
    private List<SecureConnection> awaitPeer(
            Peers known, LinkRequest linkRequest, Liveness liveness, BooleanSupplier current) {
        IdleStrategy idleStrategy = new IdleStrategy(liveness, Clock.SYSTEM, true);
        long warnNanos = System.nanoTime() + timeout.toNanos();
        boolean warned = false;
        while (true) {
            List<SecureConnection> streams =
                    pending.take(linkRequest.channel, linkRequest.peer, linkRequest.epoch);
            if (streams != null) {
                return streams;
            }
            if (!current.getAsBoolean()) {
                throw TcpLinks.linkNotCurrent(linkRequest.peer);
            }
            if (!warned && System.nanoTime() - warnNanos > 0) {
                warned = true;
                warnAboutWaiting(known.members().get(linkRequest.peer));
            }
            idleStrategy.idle();
        }
    }

    private void warnAboutWaiting(RankInfo peer) {
        LOGGER.log(
                Level.WARNING,
                "Rank %d has waited %d s for rank %d (%s) to connect. That rank is busy, or it cannot reach this host."
                        .formatted(rank, timeout.toSeconds(), peer.rank(), peer.host()));
    }
}
