package org.horovod4j.elastic.registry;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DismissedException;
import org.horovod4j.HorovodException;
import org.horovod4j.PeerLostException;
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

/// A worker's line to the [WorkerRegistry], over which it is told its places: one for the life of its process.
///
/// How long a worker waits for a place is the driver's to decide: it answers, or its end closes the line.
public final class RegistryClient implements AutoCloseable {
    private static final Logger LOG = Log.of(RegistryClient.class);

    private final int worker;
    private final String registryAddress;
    private final String registryHost;
    private final DeskLine connection;
    private final AtomicLong latestHostsVersion = new AtomicLong();
    private final CompletableFuture<Boolean> welcome = new CompletableFuture<>();
    private CompletableFuture<WorkerAssignment> pendingAssignment = new CompletableFuture<>();
    private int lastGeneration = -1;

    private RegistryClient(int worker, List<InetSocketAddress> desks, DeskLine connection) {
        this.worker = worker;
        this.registryAddress =
                desks.stream()
                        .map(each -> each.getHostString() + ":" + each.getPort())
                        .collect(Collectors.joining(" or "));
        this.registryHost = desks.getFirst().getHostString();
        this.connection = connection;
    }

    /// A place, and the news that it takes into account.
    ///
    /// @param hostsVersion of the newest change of hosts that was known when the generation was made, the same
    ///     for all its workers
    public record WorkerAssignment(WorkerPlacement placement, long hostsVersion) {}

    /// Calls the desk.
    ///
    /// @param desks where it may be reached; names are looked up, all addresses tried
    /// @param worker this worker's number
    /// @param heartbeatTimeout how long the desk may be silent before it counts as lost
    /// @param limit how long to try
    /// @throws ConfigurationException when the desk is not reached
    public static RegistryClient connect(
            Secret secret,
            List<InetSocketAddress> desks,
            int worker,
            Duration heartbeatTimeout,
            Duration limit) {
        Handshake handshake = new Handshake(secret, Purpose.REGISTRY);
        MultiAddressConnector multiAddressConnector =
                new MultiAddressConnector(SocketSettings.DEFAULT, handshake::initiate);
        try {
            DeskLine line =
                    new DeskLine(
                            multiAddressConnector.connect(desks, limit, () -> {}),
                            heartbeatTimeout);
            RegistryClient opened = new RegistryClient(worker, desks, line);
            line.start("hvd-registry-client", opened.new RegistryReceiver());
            return opened;
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    asking for a place as elastic worker %d: the launcher was not reached
                    %s
                    Check that the launcher runs, and that its ports are open to this host."""
                            .formatted(worker, e.getMessage()),
                    e);
        }
    }

    /// Whether others train already, who will stand still from the moment that this worker has a place until
    /// it is of use. False as well when the launcher is gone, as [#requestAssignment] tells.
    public boolean isTrainingStarted() {
        return welcome.join();
    }

    /// Says that this worker wants a place, and waits for it.
    ///
    /// @param generation the newest whose state it has, or -1 when it has none
    /// @param why the failure that ended its last generation, or nothing
    /// @throws DismissedException when there is none for it any more
    /// @throws PeerLostException when the launcher is gone
    public WorkerAssignment requestAssignment(int generation, String why) {
        CompletableFuture<WorkerAssignment> awaited;
        synchronized (this) {
            if (pendingAssignment.isDone() && !pendingAssignment.isCompletedExceptionally()) {
                pendingAssignment = new CompletableFuture<>();
            }
            awaited = pendingAssignment;
        }
        connection.say(new RegistryMessage.Ready(worker, generation, why));
        try {
            return awaited
                    .join(); // which an interrupt does not end, as it would for this worker alone
        } catch (CompletionException e) {
            if (e.getCause() instanceof HorovodException known) {
                throw known;
            }
            throw e;
        }
    }

    /// The stamp of the newest change of hosts that this worker has heard of; 0 when of none.
    public long latestHostsVersion() {
        return latestHostsVersion.get();
    }

    @Override
    public void close() {
        connection.finish();
    }

    /// Takes a place, but none in a generation that this worker has left.
    private synchronized void completeAssignment(WorkerAssignment workerAssignment) {
        int generation = workerAssignment.placement.generation();
        if (generation > lastGeneration && pendingAssignment.complete(workerAssignment)) {
            lastGeneration = generation;
        } else {
            LOG.log(Level.DEBUG, "not wanted any more: {0}", workerAssignment);
        }
    }

    /// For good: whatever is asked later has this answer. The first reason stays.
    private synchronized void failAssignment(HorovodException reason) {
        if (!pendingAssignment.completeExceptionally(reason)
                && !pendingAssignment.isCompletedExceptionally()) {
            pendingAssignment = CompletableFuture.failedFuture(reason);
        }
    }

    /// What comes from the desk.
    private final class RegistryReceiver implements DeskLine.Receiver {
        @Override
        public void heard(RegistryMessage registryMessage) throws MalformedMessageException {
            if (!(registryMessage instanceof RegistryMessage.FromRegistry said)) {
                throw new MalformedMessageException("a worker's words from the desk");
            }
            switch (said) {
                case RegistryMessage.Heartbeat() -> {}
                case RegistryMessage.Welcome(boolean hasBegun) -> welcome.complete(hasBegun);
                case RegistryMessage.Assigned(WorkerPlacement workerPlacement, long stamp) ->
                        completeAssignment(new WorkerAssignment(workerPlacement, stamp));
                case RegistryMessage.Dismissed(String reason) ->
                        failAssignment(new DismissedException(reason));
                case RegistryMessage.HostsUpdated(long stamp) ->
                        latestHostsVersion.accumulateAndGet(stamp, Math::max);
            }
        }

        @Override
        public void ended(String how) {
            welcome.complete(false);
            failAssignment(
                    new PeerLostException(
                            -1,
                            registryHost,
                            """
                            elastic worker %d: the launcher (desk at %s) is gone: %s
                            Look at the launcher's output first."""
                                    .formatted(worker, registryAddress, how),
                            null));
        }
    }
}
