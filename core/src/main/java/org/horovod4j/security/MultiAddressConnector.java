package org.horovod4j.security;

import org.horovod4j.security.HandshakeException.Reason;
import org.horovod4j.security.UnreachableException.Attempt;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/// Connects to a peer that may have several addresses.
///
/// A host may have addresses that lead nowhere from here, or to another host. Neither their order
/// nor the names of the interfaces show which. So the candidates race, as in Happy Eyeballs (RFC
/// 8305): each starts a moment after the one before, or at once when that one failed. The first to
/// complete the handshake wins. A good first candidate stays the only connection, and an address
/// that does not answer costs a moment. A candidate that has connected gets longer for its
/// handshake: on a host that has just started many ranks every process is slow, and more
/// connections would slow them further.
public final class MultiAddressConnector {
    private static final long HEAD_START_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long HANDSHAKE_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final SocketSettings settings;
    private final ClientHandshake handshake;

    public MultiAddressConnector(SocketSettings settings, ClientHandshake clientHandshake) {
        this.settings = settings;
        this.handshake = clientHandshake;
    }

    /// Checks that a connection leads to the wanted peer.
    @FunctionalInterface
    public interface ClientHandshake {
        /// Authenticates the peer, under its own deadline.
        ///
        /// @throws IOException when it is not the wanted peer
        SecureConnection handshake(SocketChannel channel) throws IOException;
    }

    /// Returns a connection in blocking mode to the first of `candidates` that completed the
    /// handshake.
    ///
    /// @param candidates where the peer may be, likeliest first; names are resolved
    /// @param check called every few milliseconds; may throw to give up
    /// @throws UnreachableException when all failed, or none completed within `limit`
    public SecureConnection connect(
            List<InetSocketAddress> candidates, Duration limit, Runnable check)
            throws UnreachableException {
        ConnectRace connectRace = new ConnectRace(limit, Thread.currentThread());
        SecureConnection won = null;
        try {
            won = connectRace.run(candidates, check);
            return won;
        } finally {
            connectRace.end(won);
        }
    }

    /// One call of [#connect].
    private final class ConnectRace {
        private final Duration limit;
        private final long deadlineNanos;
        private final Thread waiter;
        private final List<Candidate> startedCandidates = new ArrayList<>();
        private final List<Attempt> unresolved = new ArrayList<>();
        private final AtomicReference<@Nullable Candidate> winner = new AtomicReference<>();
        private final Candidate cancelled = new Candidate(this, new InetSocketAddress(0));

        ConnectRace(Duration limit, Thread waiter) {
            this.limit = limit;
            this.deadlineNanos = System.nanoTime() + limit.toNanos();
            this.waiter = waiter;
        }

        SecureConnection run(List<InetSocketAddress> candidates, Runnable check)
                throws UnreachableException {
            for (InetSocketAddress address : resolve(candidates)) {
                Candidate candidate = new Candidate(this, address);
                startedCandidates.add(candidate);
                Thread.ofPlatform().daemon().name("hvd-connect").start(candidate);
                await(System.nanoTime() + HEAD_START_NANOS, candidate, check);
                if (candidate.connected) {
                    await(System.nanoTime() + HANDSHAKE_NANOS, candidate, check);
                }
                if (winner.get() != null) {
                    break;
                }
            }
            for (Candidate candidate : startedCandidates) {
                await(deadlineNanos, candidate, check);
            }
            Candidate first = winner.get();
            if (first == null || first.connection == null) {
                throw new UnreachableException(attempts());
            }
            return first.connection;
        }

        /// Returns when a candidate has won, when `candidate` failed, or at the given time.
        private void await(long untilNanos, Candidate candidate, Runnable check) {
            long until = Math.min(untilNanos - deadlineNanos, 0) + deadlineNanos;
            while (winner.get() == null && candidate.failure == null) {
                long left = until - System.nanoTime();
                if (left <= 0) {
                    return;
                }
                check.run();
                // An interrupted thread would not park, so the interrupt is restored afterwards.
                boolean interrupted = Thread.interrupted();
                LockSupport.parkNanos(this, Math.min(left, CHECK_NANOS));
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        /// Whether a candidate that failed need not try again.
        boolean isEnding() {
            return winner.get() != null
                    || deadlineNanos - System.nanoTime() < RETRY_NANOS + HEAD_START_NANOS;
        }

        /// Ends the race without a winner, unless there is one. A candidate that is still
        /// connecting stops at once. One that has connected ends its handshake first: otherwise the
        /// peer would log a port scan.
        void end(@Nullable SecureConnection won) {
            winner.compareAndSet(null, cancelled);
            for (Candidate candidate : startedCandidates) {
                boolean unclaimed = candidate == winner.get() && won == null; // the check threw
                if (!candidate.connected || unclaimed) {
                    candidate.close();
                }
            }
        }

        private Set<InetSocketAddress> resolve(List<InetSocketAddress> candidates) {
            Set<InetSocketAddress> resolved = new LinkedHashSet<>();
            for (InetSocketAddress candidate : candidates) {
                if (!candidate.isUnresolved()) {
                    resolved.add(candidate);
                    continue;
                }
                try {
                    for (InetAddress each : InetAddress.getAllByName(candidate.getHostString())) {
                        resolved.add(new InetSocketAddress(each, candidate.getPort()));
                    }
                } catch (UnknownHostException e) {
                    unresolved.add(new Attempt(candidate, new IOException("unknown host name", e)));
                }
            }
            return resolved;
        }

        private List<Attempt> attempts() {
            List<Attempt> attempts = new ArrayList<>(unresolved);
            for (Candidate candidate : startedCandidates) {
                IOException failure = candidate.failure;
                attempts.add(
                        new Attempt(
                                candidate.address,
                                failure != null
                                        ? failure
                                        : new IOException(
                                                "no answer within " + limit.toMillis() + " ms")));
            }
            return List.copyOf(attempts);
        }
    }

    /// One address, tried on its own thread.
    private final class Candidate implements Runnable {
        private final ConnectRace connectRace;
        private final InetSocketAddress address;
        private volatile @Nullable SocketChannel channel;
        private volatile @Nullable SecureConnection connection;
        private volatile @Nullable IOException failure;
        private volatile boolean connected;

        Candidate(ConnectRace connectRace, InetSocketAddress address) {
            this.connectRace = connectRace;
            this.address = address;
        }

        @Override
        public void run() {
            try {
                connection = connectAndAuthenticate();
                if (!connectRace.winner.compareAndSet(null, this)) {
                    close();
                }
            } catch (IOException e) {
                close();
                failure = e;
            } catch (RuntimeException e) {
                close();
                failure = new IOException(e);
            } finally {
                LockSupport.unpark(connectRace.waiter);
            }
        }

        /// Tries again when the peer closes the connection during the handshake: a peer that is
        /// flooded with connections drops the oldest ones.
        private SecureConnection connectAndAuthenticate() throws IOException {
            while (true) {
                SocketChannel opened = SocketChannel.open();
                channel = opened;
                settings.apply(opened);
                opened.socket().connect(address, remainingMillis());
                connected = true;
                try {
                    return handshake.handshake(opened);
                } catch (HandshakeException e) {
                    close();
                    if (e.reason() != Reason.CLOSED || connectRace.isEnding()) {
                        throw e;
                    }
                    LockSupport.parkNanos(RETRY_NANOS);
                }
            }
        }

        private int remainingMillis() throws SocketTimeoutException {
            long left =
                    TimeUnit.NANOSECONDS.toMillis(connectRace.deadlineNanos - System.nanoTime());
            if (left <= 0 || connectRace.winner.get() != null) {
                throw new SocketTimeoutException(
                        "not tried: another address had connected, or the time was up");
            }
            return (int) Math.min(left, Integer.MAX_VALUE);
        }

        private void close() {
            SocketChannel opened = channel;
            if (opened != null) {
                try {
                    opened.close();
                } catch (IOException e) {
                    failure = e;
                }
            }
        }
    }
}
