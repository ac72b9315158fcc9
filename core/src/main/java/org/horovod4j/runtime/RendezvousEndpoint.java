package org.horovod4j.runtime;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.Log;
import org.horovod4j.network.LocalAddresses;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.option.RendezvousSettings;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.rendezvous.MembershipListener;
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
import java.util.Iterator;
import java.util.List;

/// The rendezvous of this process with the others of its job. It is found or opened once, and used
/// for every world that the process joins.
///
/// If rank 0 runs the rendezvous server, the server lives as long as its process: other ranks may
/// need it after rank 0 has left a world.
final class RendezvousEndpoint implements AutoCloseable {
    private static final Logger LOG = Log.of(RendezvousEndpoint.class);

    private final WorkerSettings settings;
    private final Secret secret;
    private final List<InetSocketAddress> servers;
    private final int serverRank;
    private final @Nullable RendezvousServer server;
    private final Runnable removeFile;
    private volatile boolean settled;

    private RendezvousEndpoint(
            WorkerSettings settings,
            Secret secret,
            List<InetSocketAddress> servers,
            int serverRank,
            @Nullable RendezvousServer server,
            Runnable removeFile) {
        this.settings = settings;
        this.secret = secret;
        this.servers = servers;
        this.serverRank = serverRank;
        this.server = server;
        this.removeFile = removeFile;
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
        if (!ofRankZero || settings.rank() != 0) {
            int serverRank = ofRankZero ? 0 : RendezvousClient.LAUNCHER;
            return new RendezvousEndpoint(
                    settings, secret, at.addresses(), serverRank, null, () -> {});
        }
        RendezvousServer server = serveAt(settings, secret, at);
        int port = server.address().getPort();
        List<InetSocketAddress> own =
                at.addresses().stream().filter(each -> each.getPort() == port).toList();
        return new RendezvousEndpoint(settings, secret, own, 0, server, () -> {});
    }

    /// Serves at the first port that is free. The other ranks try all of them.
    private static RendezvousServer serveAt(
            WorkerSettings settings, Secret secret, RendezvousSettings.Server at) {
        Iterator<Integer> ports = at.ports().iterator();
        while (true) {
            int port = ports.next();
            try {
                return serve(settings, secret, bindAddresses(at, port));
            } catch (ConfigurationException e) {
                if (!ports.hasNext()) {
                    throw e;
                }
                LOG.log(
                        Level.WARNING,
                        "another process occupies port {0}, at which the other ranks look first; using the next one ({1})",
                        Integer.toString(port),
                        e.getMessage());
            }
        }
    }

    /// Only loopback narrows down where to listen. Other addresses are those that other hosts use:
    /// this host may resolve its own name to 127.0.1.1, or be behind a translation of addresses.
    private static List<InetSocketAddress> bindAddresses(RendezvousSettings.Server at, int port) {
        List<String> hosts =
                at.addresses().stream().map(InetSocketAddress::getHostString).distinct().toList();
        return hosts.stream().allMatch(RendezvousEndpoint::isLoopback)
                ? hosts.stream().map(host -> new InetSocketAddress(host, port)).toList()
                : List.of(new InetSocketAddress(port));
    }

    private static boolean isLoopback(String host) {
        try {
            return InetAddress.ofLiteral(host).isLoopbackAddress();
        } catch (IllegalArgumentException e) {
            return host.equalsIgnoreCase("localhost");
        }
    }

    /// Where this rank listens: only ranks of this host need to reach it if there are no others.
    ///
    /// @throws ConfigurationException when the options name interfaces that do not exist
    static LocalAddresses listenAddresses(WorkerSettings settings) {
        LocalAddresses chosen = LocalAddresses.ofInterfaces(settings.interfaces());
        return settings.isSingleHost() ? LocalAddresses.loopback() : chosen;
    }

    private static RendezvousEndpoint openInFolder(
            WorkerSettings settings, RendezvousFolder folder, String job) {
        Secret secret = Secret.random().withProtection(protection(settings));
        LocalAddresses addresses = listenAddresses(settings);
        RendezvousServer server = serve(settings, secret, addresses.bindAddresses(0));
        int port = server.address().getPort();
        List<InetSocketAddress> reachable = addresses.reachableFromOtherHosts().withPort(port);
        try {
            folder.publish(
                    job, new RendezvousServerInfo(writerDescription(settings), reachable, secret));
        } catch (ConfigurationException e) {
            server.close();
            throw e;
        }
        LOG.log(Level.INFO, "the other ranks find this one by {0}", folder.file(job));
        InetSocketAddress self =
                server.address().getAddress().isAnyLocalAddress()
                        ? new InetSocketAddress(InetAddress.getLoopbackAddress(), port)
                        : server.address();
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

    private static RendezvousServer serve(
            WorkerSettings settings, Secret secret, List<InetSocketAddress> binds) {
        return RendezvousServer.start(
                secret,
                settings.size(),
                binds,
                settings.heartbeatTimeout(),
                settings.startTimeout(),
                MembershipListener.NONE);
    }

    Secret secret() {
        return secret;
    }

    /// A client of the server for one rank.
    ///
    /// @param rankSettings the settings of the rank
    RendezvousClient client(WorkerSettings rankSettings, int generation) {
        return new RendezvousClient(
                secret,
                servers,
                serverRank,
                rankSettings.rank(),
                rankSettings.size(),
                generation,
                settings.heartbeatTimeout(),
                settings.startTimeout());
    }

    /// Called when all ranks have joined: removes the file that led them here, so that no other job
    /// finds it. Later worlds of these processes reuse this endpoint.
    void allJoined() {
        removeFile.run();
        settled = true;
    }

    /// Stops the server, if this process runs one. Ranks that are still connected get the time that
    /// is needed to detect a lost rank.
    @Override
    public void close() {
        if (!settled) { // afterwards the file may belong to a later job of this name
            removeFile.run();
        }
        if (server != null) {
            if (settled) { // otherwise it would wait for this rank's own connection
                server.awaitDisconnects(settings.heartbeatTimeout());
            }
            server.close();
        }
    }
}
