package org.horovod4j.trust;

import org.horovod4j.trust.UnreachableException.Attempt;
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
public final class Dialler {
    private static final long HEAD_START_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long GREETING_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final SocketSettings settings;
    private final Greeting greeting;

    public Dialler(SocketSettings settings, Greeting greeting) {
        this.settings = settings;
        this.greeting = greeting;
    }

    /// What makes a connection one to the wanted peer.
    @FunctionalInterface
    public interface Greeting {
        /// Returns when it is, with the line to speak on; under its own deadline.
        ///
        /// @throws IOException when it is not
        Line greet(SocketChannel channel) throws IOException;
    }

    /// A line in blocking mode to the first of `candidates` that passed the greeting.
    ///
    /// @param candidates where the peer may be, likeliest first; names are looked up
    /// @param vigil called every few milliseconds, may throw to give up
    /// @throws UnreachableException when all failed, or none got through within `limit`
    public Line dial(List<InetSocketAddress> candidates, Duration limit, Runnable vigil)
            throws UnreachableException {
        Race race = new Race(limit, Thread.currentThread());
        Line won = null;
        try {
            won = race.run(candidates, vigil);
            return won;
        } finally {
            race.end(won);
        }
    }

    /// One call of [#dial]: its runners and who won.
    private final class Race {
        private final Duration limit;
        private final long deadlineNanos;
        private final Thread waiter;
        private final List<Runner> runners = new ArrayList<>();
        private final List<Attempt> unknown = new ArrayList<>();
        private final AtomicReference<@Nullable Runner> winner = new AtomicReference<>();
        private final Runner nobody = new Runner(this, new InetSocketAddress(0));

        Race(Duration limit, Thread waiter) {
            this.limit = limit;
            this.deadlineNanos = System.nanoTime() + limit.toNanos();
            this.waiter = waiter;
        }

        Line run(List<InetSocketAddress> candidates, Runnable vigil) throws UnreachableException {
            for (InetSocketAddress address : resolve(candidates)) {
                Runner runner = new Runner(this, address);
                runners.add(runner);
                Thread.ofPlatform().daemon().name("hvd-dial").start(runner);
                await(System.nanoTime() + HEAD_START_NANOS, runner, vigil);
                if (runner.connected) {
                    await(System.nanoTime() + GREETING_NANOS, runner, vigil);
                }
                if (winner.get() != null) {
                    break;
                }
            }
            for (Runner runner : runners) {
                await(deadlineNanos, runner, vigil);
            }
            Runner first = winner.get();
            if (first == null || first.line == null) {
                throw new UnreachableException(attempts());
            }
            return first.line;
        }

        /// Returns when somebody won, when `runner` failed, or when the time is up.
        private void await(long untilNanos, Runner runner, Runnable vigil) {
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
        void end(@Nullable Line won) {
            winner.compareAndSet(null, nobody);
            for (Runner runner : runners) {
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
                    unknown.add(new Attempt(candidate, new IOException("unknown host name", e)));
                }
            }
            return resolved;
        }

        private List<Attempt> attempts() {
            List<Attempt> attempts = new ArrayList<>(unknown);
            for (Runner runner : runners) {
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
    private final class Runner implements Runnable {
        private final Race race;
        private final InetSocketAddress address;
        private volatile @Nullable SocketChannel channel;
        private volatile @Nullable Line line;
        private volatile @Nullable IOException failure;
        private volatile boolean connected;

        Runner(Race race, InetSocketAddress address) {
            this.race = race;
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
                line = greeting.greet(opened);
                if (!race.winner.compareAndSet(null, this)) {
                    close();
                }
            } catch (IOException e) {
                close();
                failure = e;
            } catch (RuntimeException e) {
                close();
                failure = new IOException(e);
            } finally {
                LockSupport.unpark(race.waiter);
            }
        }

        private int remainingMillis() throws SocketTimeoutException {
            long left = TimeUnit.NANOSECONDS.toMillis(race.deadlineNanos - System.nanoTime());
            if (left <= 0 || race.winner.get() != null) {
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
