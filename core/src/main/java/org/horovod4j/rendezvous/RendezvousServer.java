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
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/// Where the ranks of a job meet, and where each hears of the others' end.
///
/// The launcher runs it, or rank 0's process. Each rank keeps one connection to it for as long as
/// it belongs to the job: n connections, where telling each other directly would take n². Its
/// threads mostly wait; they are platform threads, because a JVM with a poller of virtual threads
/// takes a third of a second longer to end.
///
/// A process may leave and join again: each time is a generation of its own, and a fast rank may be
/// in the next one while others are still leaving the last.
public final class RendezvousServer implements AutoCloseable {
    private static final Logger LOGGER = Log.of(RendezvousServer.class);

    /// How long the last news may take to reach the clients when the server closes.
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

    private final Duration heartbeatTimeout;
    private final RendezvousGenerations generations;
    private final Set<Connection<RendezvousMessage>> connections = ConcurrentHashMap.newKeySet();
    private final Object disconnectLock = new Object();
    private final Acceptor acceptor;
    private volatile boolean closed;

    private RendezvousServer(
            Secret secret,
            RendezvousGenerations rendezvousGenerations,
            InetSocketAddress bind,
            Duration heartbeatTimeout) {
        this.heartbeatTimeout = heartbeatTimeout;
        this.generations = rendezvousGenerations;
        this.acceptor =
                Acceptor.open(
                        bind,
                        new Handshake(secret, Purpose.RENDEZVOUS),
                        SocketSettings.DEFAULT,
                        new RefusedConnectionLog(LOGGER),
                        this::accept);
    }

    /// Starts to serve a job of `size` ranks.
    ///
    /// @param bind where to listen; a wildcard address serves IPv4 and IPv6, port 0 any free port
    /// @param heartbeatTimeout how long a rank may be silent before it counts as lost
    /// @param startTimeout how long the first rank of a generation waits for the last
    /// @throws org.horovod4j.ConfigurationException when it cannot listen there
    public static RendezvousServer start(
            Secret secret,
            int size,
            InetSocketAddress bind,
            Duration heartbeatTimeout,
            Duration startTimeout) {
        return start(secret, size, bind, heartbeatTimeout, startTimeout, MembershipListener.NONE);
    }

    /// Like the other, and tells who joins.
    public static RendezvousServer start(
            Secret secret,
            int size,
            InetSocketAddress bind,
            Duration heartbeatTimeout,
            Duration startTimeout,
            MembershipListener membershipListener) {
        RendezvousGenerations rendezvousGenerations =
                new RendezvousGenerations(size, startTimeout, membershipListener);
        return new RendezvousServer(secret, rendezvousGenerations, bind, heartbeatTimeout);
    }

    /// Starts to serve an elastic job, each generation of which must be [expected][#beginGeneration].
    public static RendezvousServer startElastic(
            Secret secret,
            InetSocketAddress bind,
            Duration heartbeatTimeout,
            Duration startTimeout,
            MembershipListener membershipListener) {
        RendezvousGenerations rendezvousGenerations =
                new RendezvousGenerations(
                        RendezvousGenerations.SIZE_PER_GENERATION,
                        startTimeout,
                        membershipListener);
        return new RendezvousServer(secret, rendezvousGenerations, bind, heartbeatTimeout);
    }

    /// Lets the ranks of a generation of an elastic job meet. Comes before anybody hears of his
    /// place in it. Whoever still waits in an older one, or joins one, hears that it is over.
    ///
    /// @param generation above all before it
    /// @param size how many ranks it has
    public void beginGeneration(int generation, int size) {
        generations.begin(generation, size);
    }

    /// Where it listens; the host part is a wildcard if that was asked for.
    public InetSocketAddress address() {
        return acceptor.address();
    }

    /// Tells how the process of a rank ended, for the reason that the other ranks hear.
    ///
    /// @param how "exit code 3", "killed by signal 9 (SIGKILL)"
    public void reportExit(int rank, String how) {
        generations.exited(rank, how);
    }

    /// Tells how the process of a rank of one generation ended. What older ones did does not matter
    /// any more, and is ignored.
    public void reportExit(int generation, int rank, String how) {
        generations.exited(generation, rank, how);
    }

    /// Tells that a rank cannot be reached any more, whatever becomes of its process: its
    /// connection may seem open for long. The other ranks hear of it at once.
    ///
    /// @param how "contact with its host was lost"
    public void reportLoss(int rank, String how) {
        generations.lost(rank, how);
    }

    /// Tells that a rank of one generation cannot be reached any more.
    public void reportLoss(int generation, int rank, String how) {
        generations.lost(generation, rank, how);
    }

    /// Waits until every rank has left or is gone, for `limit` at most, so that ranks which still
    /// complete what is under way hear of a failure among them. After a failure that all have been
    /// told of there is nothing to wait for.
    public void awaitDisconnects(Duration limit) {
        if (generations.hasFailed()) {
            return;
        }
        long deadline = System.nanoTime() + limit.toNanos();
        synchronized (disconnectLock) {
            long left;
            while (!connections.isEmpty() && (left = deadline - System.nanoTime()) > 0) {
                try {
                    TimeUnit.NANOSECONDS.timedWait(disconnectLock, left);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return;
                }
            }
        }
    }

    private void disconnected(Connection<RendezvousMessage> connection) {
        synchronized (disconnectLock) {
            connections.remove(connection);
            disconnectLock.notifyAll();
        }
    }

    /// Ends the service. Ranks that have not left hear that the launcher is gone, after all other
    /// news.
    @Override
    public void close() {
        closed = true;
        acceptor.close();
        var farewells =
                connections.stream()
                        .map(
                                each ->
                                        Thread.ofPlatform()
                                                .daemon()
                                                .start(() -> each.flushAndClose(CLOSE_TIMEOUT)))
                        .toList();
        for (Thread farewell : farewells) {
            try {
                farewell.join();
            } catch (InterruptedException e) {
                connections.forEach(Connection::close);
                Thread.currentThread().interrupt();
                return;
            }
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
        if (closed) { // it slipped in while the others were sent off
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
                disconnected(connection); // the gate closes it, so that its rank hears of it
            }
        }
    }
}
