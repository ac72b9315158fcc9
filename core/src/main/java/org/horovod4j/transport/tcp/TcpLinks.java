package org.horovod4j.transport.tcp;

import org.horovod4j.ConfigurationException;
import org.horovod4j.spi.Member;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Liveness;
import org.horovod4j.transport.Patience;
import org.horovod4j.trust.Gate;
import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.Handshake.Purpose;
import org.horovod4j.trust.PromptReader;
import org.horovod4j.trust.RefusalLog;
import org.horovod4j.trust.Secret;
import org.horovod4j.trust.UnreachableException;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// The TCP links of one rank: one listener, and a connection for each link somebody asked for.
///
/// Of two ranks the higher one dials. The lower one answers at any time, on a thread of its own,
/// whether it has asked for the link or not; so a dialler never waits for another rank's program,
/// only lower ranks wait for higher ones, and no circle of ranks can wait for each other.
public final class TcpLinks implements Links {
    private static final Logger LOGGER = System.getLogger(TcpLinks.class.getName());

    private final int rank;
    private final Duration timeout;
    private final TcpTuning tuning;
    private final Caller caller;
    private final Calls calls;
    private final Gate gate;
    private final Map<Integer, TcpLink> links = new HashMap<>();
    private @Nullable Peers peers;
    private long epoch;
    private long callCount;
    private boolean closed;

    private TcpLinks(Secret secret, int rank, Duration timeout, TcpTuning tuning) {
        this.rank = rank;
        this.timeout = timeout;
        this.tuning = tuning;
        Handshake handshake = new Handshake(secret, Purpose.LINK);
        this.caller = new Caller(handshake, tuning.sockets(), timeout);
        this.calls = new Calls(rank);
        this.gate =
                Gate.open(
                        new InetSocketAddress(0),
                        handshake,
                        tuning.sockets(),
                        new RefusalLog(LOGGER),
                        this::answer);
    }

    /// Listens on a free port, for IPv4 and IPv6.
    ///
    /// @param timeout how long a dialled rank may take to answer
    /// @throws ConfigurationException when it cannot listen
    public static TcpLinks open(Secret secret, int rank, Duration timeout, TcpTuning tuning) {
        return new TcpLinks(secret, rank, timeout, tuning);
    }

    /// Where this rank might be reached, likeliest first: for its [Member] card.
    public List<InetSocketAddress> addresses() {
        return LocalAddresses.candidates(gate.address().getPort());
    }

    /// Introduces the ranks that links may be asked for.
    ///
    /// @param world tells this meeting from others of the same processes
    /// @param liveness ends the waiting for a rank that is gone
    public synchronized void meet(List<Member> members, long world, Liveness liveness) {
        peers = new Peers(List.copyOf(members), world, liveness);
        calls.meet(world);
    }

    /// {@inheritDoc}
    ///
    /// @throws ConfigurationException when none of the peer's addresses leads to it
    /// @throws LinkBrokenException when the links were reset or closed meanwhile, on either side
    @Override
    public Link link(int peer) {
        Peers met;
        long now;
        synchronized (this) {
            TcpLink open = links.get(peer);
            if (open != null) {
                return open;
            }
            if (peers == null || peer == rank || peer < 0 || peer >= peers.members.size()) {
                throw new IllegalArgumentException("rank " + rank + " has no peer " + peer);
            }
            met = peers;
            now = epoch;
        }
        List<SocketChannel> streams =
                rank > peer ? call(met, peer, now) : awaitCall(met, peer, now);
        return install(new TcpLink(peer, streams), now);
    }

    @Override
    public synchronized void reset() {
        links.values().forEach(TcpLink::close);
        links.clear();
        epoch++;
        calls.advance(epoch);
    }

    @Override
    public synchronized void close() {
        closed = true;
        gate.close();
        calls.close();
        links.values().forEach(TcpLink::close);
        links.clear();
    }

    private record Peers(List<Member> members, long world, Liveness liveness) {}

    private List<SocketChannel> call(Peers met, int peer, long now) {
        Member self = met.members.get(rank);
        Member other = met.members.get(peer);
        boolean local = self.host().equals(other.host());
        int streams = local ? tuning.localStreams() : tuning.remoteStreams();
        Hello hello = new Hello(met.world, now, rank, peer, nextCall(), 0, streams);
        try {
            return caller.call(hello, candidates(other, local), met.liveness);
        } catch (UnreachableException e) {
            met.liveness.check(); // a peer that is known to be gone is the better story
            if (hasMovedOn(e)) {
                throw new LinkBrokenException(
                        peer, "calling rank " + peer + ": it has begun anew", e);
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

    /// Loopback leads to the caller's own host, so it is of use there only. Where a host has
    /// nothing else, it must be the only host, whatever names its ranks give it.
    private static List<InetSocketAddress> candidates(Member other, boolean local) {
        List<InetSocketAddress> useful =
                other.addresses().stream()
                        .filter(
                                each ->
                                        local
                                                || each.isUnresolved()
                                                || !each.getAddress().isLoopbackAddress())
                        .toList();
        return useful.isEmpty() ? other.addresses() : useful;
    }

    private static boolean hasMovedOn(UnreachableException e) {
        return e.attempts().stream()
                .anyMatch(
                        attempt ->
                                attempt.failure() instanceof Verdict.Unwelcome unwelcome
                                        && unwelcome.verdict() != Verdict.WRONG_RANK);
    }

    /// Waits as long as the job lives: a rank may come late to its first collective for good
    /// reasons, and one that cannot reach us fails by itself, of which liveness tells.
    private List<SocketChannel> awaitCall(Peers met, int peer, long now) {
        Patience patience = new Patience(met.liveness, Clock.SYSTEM, true);
        long warnNanos = System.nanoTime() + timeout.toNanos();
        boolean warned = false;
        while (true) {
            List<SocketChannel> streams = calls.take(peer, now);
            if (streams != null) {
                return streams;
            }
            if (!isCurrent(now)) {
                throw moot(peer);
            }
            if (!warned && System.nanoTime() - warnNanos > 0) {
                warned = true;
                warnOfWaiting(met.members.get(peer));
            }
            patience.pause();
        }
    }

    private void warnOfWaiting(Member peer) {
        LOGGER.log(
                Level.WARNING,
                "Rank %d has waited %d s for rank %d (%s) to call: it is busy, or has no way here."
                        .formatted(rank, timeout.toSeconds(), peer.rank(), peer.host()));
    }

    private synchronized Link install(TcpLink link, long then) {
        TcpLink present = links.get(link.peer());
        if (present != null || !isCurrent(then)) {
            link.close();
            if (present == null) {
                throw moot(link.peer());
            }
            return present;
        }
        links.put(link.peer(), link);
        return link;
    }

    private synchronized boolean isCurrent(long then) {
        return !closed && epoch == then;
    }

    private synchronized long nextCall() {
        return callCount++;
    }

    private static LinkBrokenException moot(int peer) {
        return new LinkBrokenException(
                peer, "opening a link to rank " + peer + ": this rank reset its links", null);
    }

    /// Answers a caller that has passed the handshake.
    private void answer(SocketChannel channel) {
        PromptReader in = new PromptReader(channel.socket(), Handshake.DEADLINE);
        boolean kept = false;
        try {
            Hello hello = Hello.decode(in.read(Hello.BYTE_SIZE));
            Verdict verdict = calls.judge(hello);
            channel.socket().getOutputStream().write(verdict.code());
            if (verdict == Verdict.WELCOME && in.read(1)[0] == Hello.TAKEN) {
                channel.configureBlocking(false);
                kept = calls.keep(hello, channel);
            }
        } catch (IOException e) {
            // Usual: the caller has reached us by another address too, and needs but one.
            LOGGER.log(Level.DEBUG, "A caller went away", e);
        } finally {
            if (!kept) {
                TcpLink.closeQuietly(channel);
            }
        }
    }
}
