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
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/// Puts calls through, for all channels of a rank: dials lower ranks, waits for higher ones.
final class Connector {
    private static final Logger LOGGER = Log.of(Connector.class);

    private final int rank;
    private final OutboundConnector outbound;
    private final PendingConnections pending;
    private final Duration timeout;
    private final TcpTuning tuning;
    private final AtomicLong attemptCount = new AtomicLong();
    private volatile @Nullable Peers peers;

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

    void setPeers(Peers met) {
        peers = met;
    }

    /// The link that a channel wants.
    ///
    /// @param epoch how often the channel was reset
    /// @param streams how many connections it should have, if this rank is the one to dial
    record LinkRequest(int channel, long epoch, int peer, int streams) {}

    /// The streams of a link, in order and not blocking.
    ///
    /// @param liveness ends the waiting for a rank that is gone
    /// @param current whether the link is still wanted
    /// @throws ConfigurationException when none of the peer's addresses leads to it
    /// @throws LinkBrokenException when the peer does not take the call, or it is no longer wanted
    List<SecureConnection> connect(
            LinkRequest linkRequest, Liveness liveness, BooleanSupplier current) {
        Peers met = peers;
        int peer = linkRequest.peer;
        if (met == null || peer == rank || peer < 0 || peer >= met.members().size()) {
            throw new IllegalArgumentException("rank " + rank + " has no peer " + peer);
        }
        return rank > peer
                ? connectToPeer(met, linkRequest, liveness)
                : awaitPeer(met, linkRequest, liveness, current);
    }

    /// Forgets what came for a channel before it was reset.
    void advance(int channel, long epoch) {
        pending.advance(channel, epoch);
    }

    private List<SecureConnection> connectToPeer(
            Peers met, LinkRequest linkRequest, Liveness liveness) {
        int peer = linkRequest.peer;
        RankInfo self = met.members().get(rank);
        RankInfo other = met.members().get(peer);
        boolean local = self.host().equals(other.host());
        int streams = linkRequest.streams == 0 ? tuning.streams(local) : linkRequest.streams;
        long number = attemptCount.getAndIncrement();
        LinkHello linkHello =
                new LinkHello(
                        met.worldId(),
                        linkRequest.channel,
                        linkRequest.epoch,
                        rank,
                        peer,
                        number,
                        0,
                        streams);
        try {
            return outbound.connect(linkHello, candidates(other, local), liveness);
        } catch (UnreachableException e) {
            liveness.check(); // a peer that is known to be gone is the better story
            Optional<LinkHelloStatus.RejectedException> unwelcome = rejection(e);
            if (unwelcome.isPresent()) {
                String why = unwelcome.get().getMessage();
                throw new LinkBrokenException(peer, "calling rank " + peer + ": " + why, e);
            }
            throw new ConfigurationException(
                    """
                    opening a TCP link from rank %d (%s) to rank %d (%s): no address leads there
                    %s
                    Check that no firewall stands between the two hosts."""
                            .formatted(rank, self.host(), peer, other.host(), e.getMessage()),
                    e);
        } catch (IOException e) {
            throw new LinkBrokenException(
                    peer, "calling rank " + peer + " broke off: " + e.getMessage(), e);
        }
    }

    /// Loopback leads to the caller's own host, so it is of use there only, and there the first to
    /// try: all other ways lead through it. Where a host has nothing else, it must be the only
    /// host, whatever names its ranks give it.
    private static List<InetSocketAddress> candidates(RankInfo other, boolean local) {
        List<InetSocketAddress> loopback = new ArrayList<>();
        List<InetSocketAddress> others = new ArrayList<>();
        for (InetSocketAddress each : other.addresses()) {
            boolean leadsBack = !each.isUnresolved() && each.getAddress().isLoopbackAddress();
            (leadsBack ? loopback : others).add(each);
        }
        if (local || others.isEmpty()) {
            loopback.addAll(others);
            return loopback;
        }
        return others;
    }

    /// What the wanted rank itself said, if it was reached.
    private static Optional<LinkHelloStatus.RejectedException> rejection(UnreachableException e) {
        return e.attempts().stream()
                .map(attempt -> attempt.failure())
                .filter(LinkHelloStatus.RejectedException.class::isInstance)
                .map(LinkHelloStatus.RejectedException.class::cast)
                .filter(
                        rejectedException ->
                                rejectedException.status() != LinkHelloStatus.WRONG_RANK)
                .findFirst();
    }

    /// Waits as long as the job lives: a rank may come late to its first collective for good
    /// reasons, and one that cannot reach us fails by itself, of which liveness tells.
    private List<SecureConnection> awaitPeer(
            Peers met, LinkRequest linkRequest, Liveness liveness, BooleanSupplier current) {
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
                warnOfWaiting(met.members().get(linkRequest.peer));
            }
            idleStrategy.idle();
        }
    }

    private void warnOfWaiting(RankInfo peer) {
        LOGGER.log(
                Level.WARNING,
                "Rank %d has waited %d s for rank %d (%s) to connect: it is busy, or it cannot reach this host."
                        .formatted(rank, timeout.toSeconds(), peer.rank(), peer.host()));
    }
}
