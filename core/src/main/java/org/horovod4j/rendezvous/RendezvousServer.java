package org.horovod4j.rendezvous;

import org.horovod4j.log.Log;
import org.horovod4j.trust.Gate;
import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.Handshake.Purpose;
import org.horovod4j.trust.Line;
import org.horovod4j.trust.RefusalLog;
import org.horovod4j.trust.Secret;
import org.horovod4j.trust.SocketSettings;

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
    private static final Duration FAREWELL = Duration.ofSeconds(1);

    private final Duration heartbeatTimeout;
    private final Worlds worlds;
    private final Set<Connection> connections = ConcurrentHashMap.newKeySet();
    private final Object departures = new Object();
    private final Gate gate;
    private volatile boolean closed;

    private RendezvousServer(
            Secret secret, Worlds worlds, InetSocketAddress bind, Duration heartbeatTimeout) {
        this.heartbeatTimeout = heartbeatTimeout;
        this.worlds = worlds;
        this.gate =
                Gate.open(
                        bind,
                        new Handshake(secret, Purpose.RENDEZVOUS),
                        SocketSettings.DEFAULT,
                        new RefusalLog(LOGGER),
                        this::admit);
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
        return start(secret, size, bind, heartbeatTimeout, startTimeout, Attendance.UNWATCHED);
    }

    /// Like the other, and tells who joins.
    public static RendezvousServer start(
            Secret secret,
            int size,
            InetSocketAddress bind,
            Duration heartbeatTimeout,
            Duration startTimeout,
            Attendance attendance) {
        Worlds worlds = new Worlds(size, startTimeout, attendance);
        return new RendezvousServer(secret, worlds, bind, heartbeatTimeout);
    }

    /// Starts to serve an elastic job, each generation of which must be [expected][#expect].
    public static RendezvousServer startElastic(
            Secret secret,
            InetSocketAddress bind,
            Duration heartbeatTimeout,
            Duration startTimeout,
            Attendance attendance) {
        Worlds worlds = new Worlds(Worlds.EXPECTED, startTimeout, attendance);
        return new RendezvousServer(secret, worlds, bind, heartbeatTimeout);
    }

    /// Lets the ranks of a generation of an elastic job meet. Comes before anybody hears of his
    /// place in it. Whoever still waits in an older one, or joins one, hears that it is over.
    ///
    /// @param generation above all before it
    /// @param size how many ranks it has
    public void expect(int generation, int size) {
        worlds.expect(generation, size);
    }

    /// Where it listens; the host part is a wildcard if that was asked for.
    public InetSocketAddress address() {
        return gate.address();
    }

    /// Tells how the process of a rank ended, for the reason that the other ranks hear.
    ///
    /// @param how "exit code 3", "killed by signal 9 (SIGKILL)"
    public void reportExit(int rank, String how) {
        worlds.exited(rank, how);
    }

    /// Tells how the process of a rank of one generation ended. What older ones did does not matter
    /// any more, and is ignored.
    public void reportExit(int generation, int rank, String how) {
        worlds.exited(generation, rank, how);
    }

    /// Tells that a rank cannot be reached any more, whatever becomes of its process: its
    /// connection may seem open for long. The other ranks hear of it at once.
    ///
    /// @param how "contact with its host was lost"
    public void reportLoss(int rank, String how) {
        worlds.lost(rank, how);
    }

    /// Tells that a rank of one generation cannot be reached any more.
    public void reportLoss(int generation, int rank, String how) {
        worlds.lost(generation, rank, how);
    }

    /// Waits until every rank has left or is gone, for `limit` at most, so that ranks which still
    /// complete what is under way hear of a failure among them. After a failure that all have been
    /// told of there is nothing to wait for.
    public void awaitDepartures(Duration limit) {
        if (worlds.hasFailed()) {
            return;
        }
        long deadline = System.nanoTime() + limit.toNanos();
        synchronized (departures) {
            long left;
            while (!connections.isEmpty() && (left = deadline - System.nanoTime()) > 0) {
                try {
                    TimeUnit.NANOSECONDS.timedWait(departures, left);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return;
                }
            }
        }
    }

    private void departed(Connection connection) {
        synchronized (departures) {
            connections.remove(connection);
            departures.notifyAll();
        }
    }

    /// Ends the service. Ranks that have not left hear that the launcher is gone, after all other
    /// news.
    @Override
    public void close() {
        closed = true;
        gate.close();
        var farewells =
                connections.stream()
                        .map(
                                each ->
                                        Thread.ofPlatform()
                                                .daemon()
                                                .start(() -> each.finish(FAREWELL)))
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

    private void admit(Line line) throws IOException {
        Connection connection = new Connection(line, heartbeatTimeout, Frames.CLIENT_LIMIT);
        connections.add(connection);
        if (closed) { // it slipped in while the others were sent off
            connection.close();
        }
        boolean started = false;
        try {
            connection.start(
                    Thread.ofPlatform().daemon().name("hvd-rendezvous"),
                    new Session(connection, worlds, () -> departed(connection)));
            started = true;
        } finally {
            if (!started) {
                departed(connection); // the gate closes it, so that its rank hears of it
            }
        }
    }
}
