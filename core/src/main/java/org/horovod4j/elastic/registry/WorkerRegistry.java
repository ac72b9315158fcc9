package org.horovod4j.elastic.registry;

import org.horovod4j.ConfigurationException;
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
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/// Where the workers of an elastic job ask for their places, in the driver's process.
///
/// Each worker keeps one line to it for as long as it lives, so the driver hears at once of its end,
/// and within the heartbeat timeout of its silence. Nothing here waits for a worker.
public final class WorkerRegistry implements AutoCloseable {
    private static final Logger LOG = Log.of(WorkerRegistry.class);

    /// How many generations' stamps are kept: those that workers are still being assigned to.
    private static final int MAX_TRACKED_GENERATIONS = 8;

    private final Duration heartbeatTimeout;
    private final Listener listener;
    private final Map<Integer, DeskLine> workers = new HashMap<>();
    private final Set<DeskLine> connections = new HashSet<>();
    private final TreeMap<Integer, Long> hostsVersions = new TreeMap<>();
    private final Acceptor acceptor;
    private long latestHostsVersion;
    private boolean closed;

    private WorkerRegistry(
            Secret secret, InetSocketAddress bind, Duration heartbeatTimeout, Listener listener) {
        this.heartbeatTimeout = heartbeatTimeout;
        this.listener = listener;
        this.acceptor =
                Acceptor.open(
                        bind,
                        new Handshake(secret, Purpose.REGISTRY),
                        SocketSettings.DEFAULT,
                        new RefusedConnectionLog(LOG),
                        this::accept);
    }

    /// Hears of the workers, on threads of the desk: those of different workers at once. Must not wait
    /// for anything.
    public interface Listener {
        /// A worker wants a place.
        ///
        /// @param generation the newest whose state it has, or -1 when it has none
        /// @param why the failure that ended its last generation, or nothing
        void ready(int worker, int generation, String why);

        /// A worker's line has ended, however that came. Nothing is heard of this worker any more.
        ///
        /// @param how "its connection closed", "silent for 10 s"
        void lost(int worker, String how);
    }

    /// Opens a desk.
    ///
    /// @param bind where to listen; a wildcard address serves IPv4 and IPv6, port 0 any free port
    /// @param heartbeatTimeout how long a worker may be silent before it counts as lost
    /// @throws ConfigurationException when it cannot listen there
    public static WorkerRegistry open(
            Secret secret, InetSocketAddress bind, Duration heartbeatTimeout, Listener listener) {
        return new WorkerRegistry(secret, bind, heartbeatTimeout, listener);
    }

    /// Where it listens; the host part is a wildcard if that was asked for.
    public InetSocketAddress address() {
        return acceptor.address();
    }

    /// Gives a worker that is ready its place. One that is gone meanwhile is not told: [Listener#lost]
    /// says so, or has said so.
    public synchronized void assign(int worker, WorkerPlacement workerPlacement) {
        long stamp =
                hostsVersions.computeIfAbsent(
                        workerPlacement.generation(), _ -> latestHostsVersion);
        while (hostsVersions.size() > MAX_TRACKED_GENERATIONS) {
            hostsVersions.pollFirstEntry();
        }
        send(worker, new RegistryMessage.Assigned(workerPlacement, stamp));
    }

    /// Tells a worker that there is no place for it any more: its process ends with exit code 0.
    public synchronized void dismiss(int worker, String reason) {
        send(worker, new RegistryMessage.Dismissed(reason));
    }

    /// Tells all workers that hosts have come or will go, so that they ask for new places when they next
    /// commit or check. Generations whose assignment begins later take it into account.
    ///
    /// @param stamp above 0 and above all before it
    public synchronized void hostsUpdated(long stamp) {
        if (stamp <= latestHostsVersion) {
            throw new IllegalArgumentException(
                    "stamp %d after stamp %d: it must be newer"
                            .formatted(stamp, latestHostsVersion));
        }
        latestHostsVersion = stamp;
        workers.values().forEach(line -> line.say(new RegistryMessage.HostsUpdated(stamp)));
    }

    /// Ends the service: workers that wait for a place hear that the launcher is gone.
    @Override
    public synchronized void close() {
        closed = true;
        acceptor.close();
        connections.forEach(DeskLine::finish);
    }

    private void send(int worker, RegistryMessage.FromRegistry word) {
        DeskLine line = workers.get(worker);
        if (line != null) {
            line.say(word);
        }
    }

    private void accept(SecureConnection admitted) throws IOException {
        DeskLine line = new DeskLine(admitted, heartbeatTimeout);
        synchronized (this) {
            if (closed) { // it slipped in while the others were sent off
                line.close();
            }
            connections.add(line);
            line.say(new RegistryMessage.Welcome(!hostsVersions.isEmpty()));
        }
        line.start("hvd-registry", new WorkerSession(line));
    }

    private synchronized void register(int worker, DeskLine line) throws MalformedMessageException {
        if (workers.putIfAbsent(worker, line) != null) {
            throw new MalformedMessageException("there is a worker %d already".formatted(worker));
        }
    }

    private synchronized void unregister(@Nullable Integer worker, DeskLine line) {
        connections.remove(line);
        if (worker != null) {
            workers.remove(worker);
        }
    }

    /// What comes from one worker.
    private final class WorkerSession implements DeskLine.Receiver {
        private final DeskLine connection;
        private @Nullable Integer worker;

        WorkerSession(DeskLine connection) {
            this.connection = connection;
        }

        @Override
        public void heard(RegistryMessage registryMessage) throws MalformedMessageException {
            if (!(registryMessage instanceof RegistryMessage.FromWorker said)) {
                throw new MalformedMessageException("the desk's words from a worker");
            }
            switch (said) {
                case RegistryMessage.Heartbeat() -> {}
                case RegistryMessage.Ready(int number, int generation, String why) -> {
                    identify(number);
                    listener.ready(number, generation, why);
                }
            }
        }

        private void identify(int number) throws MalformedMessageException {
            if (worker == null) {
                register(number, connection);
                worker = number;
            } else if (worker != number) {
                throw new MalformedMessageException(
                        "worker %d calls itself worker %d".formatted(worker, number));
            }
        }

        @Override
        public void ended(String how) {
            Integer known = worker;
            unregister(known, connection);
            if (known == null) {
                LOG.log(Level.DEBUG, "somebody left the desk before saying who: {0}", how);
            } else {
                listener.lost(known, how);
            }
        }
    }
}
