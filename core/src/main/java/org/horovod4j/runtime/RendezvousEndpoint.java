package org.horovod4j.runtime;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.Log;
import org.horovod4j.network.LocalAddresses;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.option.RendezvousSettings;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.rendezvous.RendezvousClient;
import org.horovod4j.rendezvous.RendezvousDiscovery;
import org.horovod4j.rendezvous.RendezvousFolder;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.rendezvous.RendezvousServerInfo;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;

/// Where this process meets the others of its job: found, or opened, once and good for every world
/// it joins.
///
/// Where rank 0 itself serves the rendezvous, the server lives as long as the process, since the
/// other ranks may still need it when rank 0 has left a world.
final class RendezvousEndpoint implements AutoCloseable {
    private static final Logger LOG = Log.of(RendezvousEndpoint.class);

    private final WorkerSettings settings;
    private final Secret secret;
    private final List<InetSocketAddress> servers;
    private final int serverRank;
    private final @Nullable RendezvousServer server;
    private final Runnable removeInvitation;
    private volatile boolean settled;

    private RendezvousEndpoint(
            WorkerSettings settings,
            Secret secret,
            List<InetSocketAddress> servers,
            int serverRank,
            @Nullable RendezvousServer server,
            Runnable removeInvitation) {
        this.settings = settings;
        this.secret = secret;
        this.servers = servers;
        this.serverRank = serverRank;
        this.server = server;
        this.removeInvitation = removeInvitation;
    }

    /// @throws ConfigurationException when it cannot be opened, or is not found in time
    static RendezvousEndpoint open(WorkerSettings settings, RendezvousSettings rendezvousSettings) {
        return switch (rendezvousSettings) {
            case RendezvousSettings.Server at -> atAddress(settings, at);
            case RendezvousSettings.SharedFolder in -> {
                RendezvousFolder folder = new RendezvousFolder(in.folder());
                yield settings.rank() == 0
                        ? openInFolder(settings, folder, in.job())
                        : findInFolder(settings, folder, in.job());
            }
        };
    }

    private static RendezvousEndpoint atAddress(
            WorkerSettings settings, RendezvousSettings.Server at) {
        Secret secret = Secret.decode(at.secret().text()).withProtection(protection(settings));
        boolean ofRankZero = at.host() == RendezvousHost.RANK0;
        return new RendezvousEndpoint(
                settings,
                secret,
                at.addresses(),
                ofRankZero ? 0 : RendezvousClient.LAUNCHER,
                ofRankZero && settings.rank() == 0 ? serve(settings, secret, at.port()) : null,
                () -> {});
    }

    private static RendezvousEndpoint openInFolder(
            WorkerSettings settings, RendezvousFolder folder, String job) {
        Secret secret = Secret.random().withProtection(protection(settings));
        RendezvousServer server = serve(settings, secret, 0);
        int port = server.address().getPort();
        try {
            LocalAddresses addresses =
                    LocalAddresses.ofInterfaces(settings.interfaces()).reachableFromOtherHosts();
            folder.publish(
                    job,
                    new RendezvousServerInfo(
                            writerDescription(settings), addresses.withPort(port), secret));
        } catch (ConfigurationException e) {
            server.close();
            throw e;
        }
        LOG.log(Level.INFO, "the other ranks find this one by {0}", folder.file(job));
        InetSocketAddress self = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        return new RendezvousEndpoint(
                settings, secret, List.of(self), 0, server, () -> folder.remove(job));
    }

    private static RendezvousEndpoint findInFolder(
            WorkerSettings settings, RendezvousFolder folder, String job) {
        RendezvousServerInfo rendezvousServerInfo =
                new RendezvousDiscovery(folder, job, settings.startTimeout(), protection(settings))
                        .await(settings.processIdentity().toString(), settings.host());
        LOG.log(Level.INFO, "found by {0}: {1}", folder.file(job), rendezvousServerInfo);
        return new RendezvousEndpoint(
                settings,
                rendezvousServerInfo.secret(),
                rendezvousServerInfo.servers(),
                0,
                null,
                () -> {});
    }

    private static Protection protection(WorkerSettings settings) {
        return Protection.of(settings.runtime().tls());
    }

    private static String writerDescription(WorkerSettings settings) {
        return "process %d on %s, %s"
                .formatted(
                        ProcessHandle.current().pid(),
                        settings.host(),
                        Instant.now().truncatedTo(ChronoUnit.SECONDS));
    }

    private static RendezvousServer serve(WorkerSettings settings, Secret secret, int port) {
        return RendezvousServer.start(
                secret,
                settings.size(),
                new InetSocketAddress(port),
                settings.heartbeatTimeout(),
                settings.startTimeout());
    }

    Secret secret() {
        return secret;
    }

    /// The line to the server of this process at a rank.
    ///
    /// @param seat the rank's settings
    RendezvousClient client(WorkerSettings seat, int generation) {
        return new RendezvousClient(
                secret,
                servers,
                serverRank,
                seat.rank(),
                seat.size(),
                generation,
                settings.heartbeatTimeout(),
                settings.startTimeout());
    }

    /// All ranks have come: what led them here leads nobody else here. Later worlds of these
    /// processes know the way.
    void allJoined() {
        removeInvitation.run();
        settled = true;
    }

    /// Ends the service to other ranks, if this process has one. Ranks that are still at it get as
    /// long as it takes to notice a silent one among them.
    @Override
    public void close() {
        if (!settled) { // by now the file may be that of a later job of this name
            removeInvitation.run();
        }
        if (server != null) {
            if (settled) { // or this rank's own line would be waited for
                server.awaitDisconnects(settings.heartbeatTimeout());
            }
            server.close();
        }
    }
}
