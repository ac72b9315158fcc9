package org.horovod4j.elastic.registry;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DismissedException;
import org.horovod4j.HorovodException;
import org.horovod4j.PeerLostException;
import org.horovod4j.connection.Connection;
import org.horovod4j.connection.Connection.CloseReason;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.log.Log;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.MultiAddressConnector;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SocketSettings;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

/// A worker's end of its connection to the [WorkerRegistry]: one for the whole process.
///
/// It sets no limit on the wait for a rank: the launcher answers, or the connection ends.
public final class RegistryClient implements AutoCloseable {
    private static final Logger LOGGER = Log.of(RegistryClient.class);

    private final int worker;
    private final String registryAddress;
    private final String registryHost;
    private final Connection<RegistryMessage> connection;
    private final AtomicLong latestHostsVersion = new AtomicLong();
    private final CompletableFuture<Boolean> welcome = new CompletableFuture<>();
    private CompletableFuture<WorkerAssignment> pendingAssignment = new CompletableFuture<>();
    private int lastGeneration = -1;

    private RegistryClient(
            int worker, List<InetSocketAddress> addresses, Connection<RegistryMessage> connection) {
        this.worker = worker;
        this.registryAddress =
                addresses.stream()
                        .map(each -> each.getHostString() + ":" + each.getPort())
                        .collect(Collectors.joining(" or "));
        this.registryHost = addresses.getFirst().getHostString();
        this.connection = connection;
    }

    /// A worker's rank in a generation.
    ///
    /// @param hostsVersion the newest change of hosts when the generation was formed, the same for
    ///     all its workers
    public record WorkerAssignment(WorkerPlacement placement, long hostsVersion) {}

    /// Connects to the registry.
    ///
    /// @param addresses where the registry may be; names are resolved, all addresses tried
    /// @param worker this worker's number
    /// @param heartbeatTimeout how long the registry may be silent before it is declared lost
    /// @param limit how long to try
    /// @throws ConfigurationException when the registry is not reached
    public static RegistryClient connect(
            Secret secret,
            List<InetSocketAddress> addresses,
            int worker,
            Duration heartbeatTimeout,
            Duration limit) {
        Handshake handshake = new Handshake(secret, Purpose.REGISTRY);
        MultiAddressConnector connector =
                new MultiAddressConnector(SocketSettings.of(heartbeatTimeout), handshake::initiate);
        try {
            Connection<RegistryMessage> connection =
                    RegistryMessageCodec.connection(
                            connector.connect(addresses, limit, () -> {}), heartbeatTimeout);
            RegistryClient client = new RegistryClient(worker, addresses, connection);
            connection.start("hvd-registry-client", client.new RegistryReceiver());
            return client;
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    connecting elastic worker %d to the launcher: the launcher was not reached
                    %s
                    Check that the launcher runs, and that its ports are open to this host."""
                            .formatted(worker, e.getMessage()),
                    e);
        }
    }

    /// Whether other workers train already. They pause as soon as this worker is assigned a rank,
    /// until it is ready. False also when the launcher is gone, which [#requestAssignment] reports.
    public boolean isTrainingStarted() {
        return welcome.join();
    }

    /// Asks for a rank, and waits for it. An interrupt does not end the wait.
    ///
    /// @param generation the newest generation whose state this worker has, or -1 when it has none
    /// @param failure the failure that ended its last generation, or an empty text
    /// @throws DismissedException when the job needs this worker no longer
    /// @throws PeerLostException when the launcher is gone
    public WorkerAssignment requestAssignment(int generation, String failure) {
        CompletableFuture<WorkerAssignment> pending;
        synchronized (this) {
            if (pendingAssignment.isDone() && !pendingAssignment.isCompletedExceptionally()) {
                pendingAssignment = new CompletableFuture<>();
            }
            pending = pendingAssignment;
        }
        connection.send(new RegistryMessage.Ready(worker, generation, failure));
        try {
            return pending.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof HorovodException known) {
                throw known;
            }
            throw e;
        }
    }

    /// The newest change of hosts that this worker knows, or 0.
    public long latestHostsVersion() {
        return latestHostsVersion.get();
    }

    @Override
    public void close() {
        connection.finish();
    }

    /// Ignores an assignment to a generation that this worker has left.
    private synchronized void completeAssignment(WorkerAssignment assignment) {
        int generation = assignment.placement.generation();
        if (generation > lastGeneration && pendingAssignment.complete(assignment)) {
            lastGeneration = generation;
        } else {
            LOGGER.log(Level.DEBUG, "Ignoring a late assignment: {0}", assignment);
        }
    }

    /// Fails this request and all later ones. The first reason stays.
    private synchronized void failAssignment(HorovodException reason) {
        if (!pendingAssignment.completeExceptionally(reason)
                && !pendingAssignment.isCompletedExceptionally()) {
            pendingAssignment = CompletableFuture.failedFuture(reason);
        }
    }

    /// Handles the messages of the registry.
    private final class RegistryReceiver implements Connection.Receiver<RegistryMessage> {
        @Override
        public void received(RegistryMessage message) throws MalformedMessageException {
            if (!(message instanceof RegistryMessage.FromRegistry fromRegistry)) {
                throw new MalformedMessageException("a message of a worker from the registry");
            }
            switch (fromRegistry) {
                case RegistryMessage.Welcome(boolean trainingStarted) ->
                        welcome.complete(trainingStarted);
                case RegistryMessage.Assigned(WorkerPlacement placement, long hostsVersion) ->
                        completeAssignment(new WorkerAssignment(placement, hostsVersion));
                case RegistryMessage.Dismissed(String reason) ->
                        failAssignment(new DismissedException(reason));
                case RegistryMessage.HostsUpdated(long hostsVersion) ->
                        latestHostsVersion.accumulateAndGet(hostsVersion, Math::max);
            }
        }

        @Override
        public void closed(CloseReason closeReason) {
            welcome.complete(false);
            failAssignment(
                    new PeerLostException(
                            -1,
                            registryHost,
                            """
                            elastic worker %d: the launcher (worker registry at %s) is gone: %s
                            Look at the launcher's output first."""
                                    .formatted(worker, registryAddress, closeReason.detail()),
                            null));
        }
    }
}
