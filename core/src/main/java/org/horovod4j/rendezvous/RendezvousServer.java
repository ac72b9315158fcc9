package org.horovod4j.rendezvous;

import org.horovod4j.connection.Connection;
import org.horovod4j.log.Log;
import org.horovod4j.security.Acceptor;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.RefusedConnectionLog;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.security.SocketSettings;

import java.io.IOException;
import java.lang.System.Logger;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/// The server through which the ranks of a job find each other and learn of lost ranks.
///
/// The launcher runs it, or the process of rank 0. Each rank keeps one connection to it while it
/// belongs to the job: n connections, where direct ones would take n².
///
/// A process may leave and join again. Each time is a new generation. A fast rank may be in the
/// next generation while others still leave the last.
public final class RendezvousServer implements AutoCloseable {
    private static final Logger LOGGER = Log.of(RendezvousServer.class);

    /// How long the last messages may take to reach the clients when the server closes.
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

    /// After this time a process has had its signal and knows that it is ending.
    private static final Duration ENDING_LOSS_DELAY = Duration.ofSeconds(3);

    private final Duration heartbeatTimeout;
    private final RendezvousGenerations generations;
    private final Set<Connection<RendezvousMessage>> connections = ConcurrentHashMap.newKeySet();
    private final Object disconnectLock = new Object();
    private final Acceptor acceptor;
    private volatile boolean closed;

    private RendezvousServer(
            Secret secret,
            RendezvousGenerations rendezvousGenerations,
            List<InetSocketAddress> binds,
            Duration heartbeatTimeout) {
        this.heartbeatTimeout = heartbeatTimeout;
        this.generations = rendezvousGenerations;
        this.acceptor =
                Acceptor.open(
                        binds,
                        new Handshake(secret, Purpose.RENDEZVOUS),
                        SocketSettings.of(heartbeatTimeout),
                        new RefusedConnectionLog(LOGGER),
                        this::accept);
    }

    /// Starts to serve a job of `size` ranks.
    ///
    /// @param bind where to listen; a wildcard address serves IPv4 and IPv6, port 0 any free port
    /// @param heartbeatTimeout how long a rank may be silent before it is declared lost
    /// @param startTimeout how long the first rank of a generation waits for the last
    /// @throws org.horovod4j.ConfigurationException when it cannot listen there
    public static RendezvousServer start(
            Secret secret,
            int size,
            InetSocketAddress bind,
            Duration heartbeatTimeout,
            Duration startTimeout) {
        return start(
                secret,
                size,
                List.of(bind),
                heartbeatTimeout,
                startTimeout,
                MembershipListener.NONE);
    }

    /// Like the other, at several addresses with one port. Tells `membershipListener` who joins.
    public static RendezvousServer start(
            Secret secret,
            int size,
            List<InetSocketAddress> binds,
            Duration heartbeatTimeout,
            Duration startTimeout,
            MembershipListener membershipListener) {
        RendezvousGenerations rendezvousGenerations =
                new RendezvousGenerations(size, startTimeout, membershipListener);
        return new RendezvousServer(secret, rendezvousGenerations, binds, heartbeatTimeout);
    }

    /// Starts to serve an elastic job. Each generation must be announced by [#beginGeneration].
    public static RendezvousServer startElastic(
            Secret secret,
            List<InetSocketAddress> binds,
            Duration heartbeatTimeout,
            Duration startTimeout,
            MembershipListener membershipListener) {
        RendezvousGenerations rendezvousGenerations =
                new RendezvousGenerations(
                        RendezvousGenerations.SIZE_PER_GENERATION,
                        startTimeout,
                        membershipListener);
        return new RendezvousServer(secret, rendezvousGenerations, binds, heartbeatTimeout);
    }

    /// Opens a generation of an elastic job. Must come before its ranks are assigned. Ranks that
    /// still wait in an older generation, or join one, learn that it is over.
    ///
    /// @param generation higher than all before
    /// @param size how many ranks it has
    public void beginGeneration(int generation, int size) {
        generations.begin(generation, size);
    }

    /// Where it listens. The host part is a wildcard if `bind` was one.
    public InetSocketAddress address() {
        return acceptor.address();
    }

    /// Reports how the process of a rank exited. The other ranks get it as the reason of the loss.
    ///
    /// @param how "exit code 3", "killed by signal 9 (SIGKILL)"
    public void reportExit(int rank, String how) {
        generations.exited(rank, how);
    }

    /// Reports how the process of a rank of one generation exited. Ignored for generations that are
    /// over.
    public void reportExit(int generation, int rank, String how) {
        generations.exited(generation, rank, how);
    }

    /// Reports that a rank cannot be reached, even if its connection seems open. The other ranks
    /// are told at once.
    ///
    /// @param how "contact with its host was lost"
    public void reportLoss(int rank, String how) {
        generations.lost(rank, how);
    }

    /// Reports that a rank of one generation cannot be reached.
    public void reportLoss(int generation, int rank, String how) {
        generations.lost(generation, rank, how);
    }

    /// Call this before the processes of the job are ended from outside. All of them are about to
    /// exit, so those that exit first are not reported to the others at once.
    public void jobIsEnding() {
        generations.delayLosses(ENDING_LOSS_DELAY);
    }

    /// Waits until every rank has disconnected, for `limit` at most. Ranks that still complete
    /// operations can then be told of a failure. Returns at once after a failure, which all ranks
    /// have been told.
    public void awaitDisconnects(Duration limit) {
        if (generations.hasFailed()) {
            return;
        }
        long deadline = System.nanoTime() + limit.toNanos();
        boolean interrupted = false;
        synchronized (disconnectLock) {
            long left;
            while (!connections.isEmpty() && (left = deadline - System.nanoTime()) > 0) {
                try {
                    TimeUnit.NANOSECONDS.timedWait(disconnectLock, left);
                } catch (InterruptedException _) { // the other ranks still need the server
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void disconnected(Connection<RendezvousMessage> connection) {
        synchronized (disconnectLock) {
            connections.remove(connection);
            disconnectLock.notifyAll();
        }
    }

    /// Sends what is queued and closes all connections. Ranks that have not left learn that the
    /// launcher is gone.
    @Override
    public void close() {
        closed = true;
        acceptor.close();
        var closers =
                connections.stream()
                        .map(
                                each ->
                                        Thread.ofPlatform()
                                                .daemon()
                                                .start(() -> each.flushAndClose(CLOSE_TIMEOUT)))
                        .toList();
        boolean interrupted = false;
        for (Thread closer : closers) {
            while (closer.isAlive()) { // for CLOSE_TIMEOUT at most
                try {
                    closer.join();
                } catch (InterruptedException _) { // what is queued may be the report of a failure
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void accept(SecureConnection secureConnection) throws IOException {
        Connection<RendezvousMessage> connection =
                new Connection<>(
                        secureConnection,
                        RendezvousMessageCodec.INSTANCE,
                        RendezvousMessageCodec.MAX_CLIENT_BYTES,
                        heartbeatTimeout);
        connections.add(connection);
        if (closed) { // accepted while close() was running
            connection.close();
        }
        boolean started = false;
        try {
            connection.start(
                    "hvd-rendezvous",
                    new ClientSession(connection, generations, () -> disconnected(connection)));
            started = true;
        } finally {
            if (!started) {
                disconnected(connection); // the acceptor closes the socket
            }
        }
    }
}
