package org.horovod4j.security;

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

/// Reaches a peer that may have several addresses, by trying them.
///
/// A host has addresses that lead nowhere from here, or to somebody else, and neither their order
/// nor the names of its interfaces tell which. So the candidates race: each starts a moment after
/// the one before, or at once when that one failed, and the first to complete the greeting wins. A
/// good first candidate thus stays the only connection, and a black hole costs a moment. A
/// candidate that has taken the call gets longer for its greeting: on a host that has just started
/// many ranks every process is slow, and four calls from each rank would make all of them slower.
public final class MultiAddressConnector {
    private static final long HEAD_START_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long HANDSHAKE_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final SocketSettings settings;
    private final ClientHandshake handshake;

    public MultiAddressConnector(SocketSettings settings, ClientHandshake clientHandshake) {
        this.settings = settings;
        this.handshake = clientHandshake;
    }

    /// What makes a connection one to the wanted peer.
    @FunctionalInterface
    public interface ClientHandshake {
        /// Returns when it is, with the line to speak on; under its own deadline.
        ///
        /// @throws IOException when it is not
        SecureConnection handshake(SocketChannel channel) throws IOException;
    }

    /// A line in blocking mode to the first of `candidates` that passed the greeting.
    ///
    /// @param candidates where the peer may be, likeliest first; names are looked up
    /// @param vigil called every few milliseconds, may throw to give up
    /// @throws UnreachableException when all failed, or none got through within `limit`
    public SecureConnection connect(
            List<InetSocketAddress> candidates, Duration limit, Runnable vigil)
            throws UnreachableException {
        ConnectRace connectRace = new ConnectRace(limit, Thread.currentThread());
        SecureConnection won = null;
        try {
            won = connectRace.run(candidates, vigil);
            return won;
        } finally {
            connectRace.end(won);
        }
    }

    /// One call of [#connect]: its runners and who won.
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

        SecureConnection run(List<InetSocketAddress> candidates, Runnable vigil)
                throws UnreachableException {
            for (InetSocketAddress address : resolve(candidates)) {
                Candidate runner = new Candidate(this, address);
                startedCandidates.add(runner);
                Thread.ofPlatform().daemon().name("hvd-connect").start(runner);
                await(System.nanoTime() + HEAD_START_NANOS, runner, vigil);
                if (runner.connected) {
                    await(System.nanoTime() + HANDSHAKE_NANOS, runner, vigil);
                }
                if (winner.get() != null) {
                    break;
                }
            }
            for (Candidate runner : startedCandidates) {
                await(deadlineNanos, runner, vigil);
            }
            Candidate first = winner.get();
            if (first == null || first.connection == null) {
                throw new UnreachableException(attempts());
            }
            return first.connection;
        }

        /// Returns when somebody won, when `runner` failed, or when the time is up.
        private void await(long untilNanos, Candidate runner, Runnable vigil) {
            long until = Math.min(untilNanos - deadlineNanos, 0) + deadlineNanos;
            while (winner.get() == null && runner.failure == null) {
                long left = until - System.nanoTime();
                if (left <= 0) {
                    return;
                }
                vigil.run();
                // An interrupted thread would not park at all, so the interrupt is put aside
                // meanwhile.
                boolean interrupted = Thread.interrupted();
                LockSupport.parkNanos(this, Math.min(left, CHECK_NANOS));
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        /// From here on nobody can win. A loser that is still connecting stops at once; one that is
        /// past it ends its greeting first, or the other side would take it for a port scanner.
        void end(@Nullable SecureConnection won) {
            winner.compareAndSet(null, cancelled);
            for (Candidate runner : startedCandidates) {
                boolean unclaimed = runner == winner.get() && won == null; // the vigil gave up
                if (!runner.connected || unclaimed) {
                    runner.close();
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
            for (Candidate runner : startedCandidates) {
                IOException failure = runner.failure;
                attempts.add(
                        new Attempt(
                                runner.address,
                                failure != null
                                        ? failure
                                        : new IOException(
                                                "no answer within " + limit.toMillis() + " ms")));
            }
            return List.copyOf(attempts);
        }
    }

    /// One address on a thread of its own.
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
                SocketChannel opened = SocketChannel.open();
                channel = opened;
                settings.apply(opened);
                opened.socket().connect(address, remainingMillis());
                connected = true;
                connection = handshake.handshake(opened);
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

        private int remainingMillis() throws SocketTimeoutException {
            long left =
                    TimeUnit.NANOSECONDS.toMillis(connectRace.deadlineNanos - System.nanoTime());
            if (left <= 0 || connectRace.winner.get() != null) {
                throw new SocketTimeoutException("the race was over before this address began");
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
