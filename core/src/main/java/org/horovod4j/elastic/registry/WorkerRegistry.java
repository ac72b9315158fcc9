package org.horovod4j.elastic.registry;

import org.horovod4j.ConfigurationException;
import org.horovod4j.connection.Connection;
import org.horovod4j.connection.Connection.CloseReason;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.log.Log;
import org.horovod4j.security.Acceptor;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.RefusedConnectionLog;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.security.SocketSettings;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/// Assigns ranks to the workers of an elastic job. Runs in the launcher.
///
/// Each worker keeps one connection to it while its process runs. The registry reports a worker as
/// lost as soon as its connection closes, or when it has been silent for the heartbeat timeout.
/// No method waits for a worker.
public final class WorkerRegistry implements AutoCloseable {
    private static final Logger LOGGER = Log.of(WorkerRegistry.class);

    /// The number of generations whose hosts version is kept. Older ones assign no more workers.
    private static final int MAX_TRACKED_GENERATIONS = 8;

    private final Duration heartbeatTimeout;
    private final Listener listener;
    private final Map<Integer, Connection<RegistryMessage>> workers = new HashMap<>();
    private final Set<Connection<RegistryMessage>> connections = new HashSet<>();
    private final TreeMap<Integer, Long> hostsVersions = new TreeMap<>();
    private final Acceptor acceptor;
    private long latestHostsVersion;
    private boolean closed;

    private WorkerRegistry(
            Secret secret,
            List<InetSocketAddress> binds,
            Duration heartbeatTimeout,
            Listener listener) {
        this.heartbeatTimeout = heartbeatTimeout;
        this.listener = listener;
        this.acceptor =
                Acceptor.open(
                        binds,
                        new Handshake(secret, Purpose.REGISTRY),
                        SocketSettings.of(heartbeatTimeout),
                        new RefusedConnectionLog(LOGGER),
                        this::accept);
    }

    /// Receives the events of workers. Events of different workers come on different threads, at
    /// the same time. Must not block.
    public interface Listener {
        /// A worker asks for a rank.
        ///
        /// @param generation the newest generation whose state it has, or -1 when it has none
        /// @param failure the failure that ended its last generation, or an empty text
        void ready(int worker, int generation, String failure);

        /// A worker's connection has ended. No more events of this worker follow.
        ///
        /// @param reason "its connection closed", "silent for 10 s"
        void lost(int worker, String reason);
    }

    /// Starts to listen.
    ///
    /// @param binds where to listen, with equal ports; a wildcard address serves IPv4 and IPv6, port
    ///     0 any free port
    /// @param heartbeatTimeout how long a worker may be silent before it is declared lost
    /// @throws ConfigurationException when it cannot listen there
    public static WorkerRegistry open(
            Secret secret,
            List<InetSocketAddress> binds,
            Duration heartbeatTimeout,
            Listener listener) {
        return new WorkerRegistry(secret, binds, heartbeatTimeout, listener);
    }

    /// Where it listens. The first address, with the port that was picked.
    public InetSocketAddress address() {
        return acceptor.address();
    }

    /// Sends a worker its rank. Does nothing if the worker is already disconnected, for which
    /// [Listener#lost] is called.
    public synchronized void assign(int worker, WorkerPlacement placement) {
        long hostsVersion =
                hostsVersions.computeIfAbsent(placement.generation(), _ -> latestHostsVersion);
        while (hostsVersions.size() > MAX_TRACKED_GENERATIONS) {
            hostsVersions.pollFirstEntry();
        }
        send(worker, new RegistryMessage.Assigned(placement, hostsVersion));
    }

    /// Tells a worker that the job needs it no longer.
    public synchronized void dismiss(int worker, String reason) {
        send(worker, new RegistryMessage.Dismissed(reason));
    }

    /// Tells all workers that the hosts have changed, so that they ask for new ranks at their next
    /// commit or check. Generations whose first assignment comes later include the change.
    ///
    /// @param hostsVersion positive, and higher than all before
    public synchronized void hostsUpdated(long hostsVersion) {
        if (hostsVersion <= latestHostsVersion) {
            throw new IllegalArgumentException(
                    "hosts version %d after %d: it must be higher"
                            .formatted(hostsVersion, latestHostsVersion));
        }
        latestHostsVersion = hostsVersion;
        RegistryMessage update = new RegistryMessage.HostsUpdated(hostsVersion);
        workers.values().forEach(connection -> connection.send(update));
    }

    /// Closes all connections. Workers that wait for a rank get a
    /// [org.horovod4j.PeerLostException].
    @Override
    public synchronized void close() {
        closed = true;
        acceptor.close();
        connections.forEach(Connection::finish);
    }

    private void send(int worker, RegistryMessage.FromRegistry message) {
        Connection<RegistryMessage> connection = workers.get(worker);
        if (connection != null) {
            connection.send(message);
        }
    }

    private void accept(SecureConnection accepted) throws IOException {
        Connection<RegistryMessage> connection =
                RegistryMessageCodec.connection(accepted, heartbeatTimeout);
        synchronized (this) {
            if (closed) { // accepted while close() was running
                connection.close();
            }
            connections.add(connection);
            connection.send(new RegistryMessage.Welcome(!hostsVersions.isEmpty()));
        }
        connection.start("hvd-registry", new WorkerSession(connection));
    }

    private synchronized void register(int worker, Connection<RegistryMessage> connection)
            throws MalformedMessageException {
        if (workers.putIfAbsent(worker, connection) != null) {
            throw new MalformedMessageException("worker %d is connected already".formatted(worker));
        }
    }

    private synchronized void unregister(
            @Nullable Integer worker, Connection<RegistryMessage> connection) {
        connections.remove(connection);
        if (worker != null) {
            workers.remove(worker);
        }
    }

    /// Handles the messages of one worker.
    private final class WorkerSession implements Connection.Receiver<RegistryMessage> {
        private final Connection<RegistryMessage> connection;
        private @Nullable Integer worker;

        WorkerSession(Connection<RegistryMessage> connection) {
            this.connection = connection;
        }

        @Override
        public void received(RegistryMessage message) throws MalformedMessageException {
            if (!(message instanceof RegistryMessage.FromWorker fromWorker)) {
                throw new MalformedMessageException("a message of the registry from a worker");
            }
            switch (fromWorker) {
                case RegistryMessage.Ready(int number, int generation, String failure) -> {
                    identify(number);
                    listener.ready(number, generation, failure);
                }
            }
        }

        private void identify(int number) throws MalformedMessageException {
            if (worker == null) {
                register(number, connection);
                worker = number;
            } else if (worker != number) {
                throw new MalformedMessageException(
                        "worker %d sent the number %d".formatted(worker, number));
            }
        }

        @Override
        public void closed(CloseReason closeReason) {
            Integer known = worker;
            unregister(known, connection);
            if (known == null) {
                LOGGER.log(
                        Level.DEBUG,
                        "A worker disconnected before it sent its number: {0}",
                        closeReason.detail());
            } else {
                listener.lost(known, closeReason.detail());
            }
        }
    }
}
