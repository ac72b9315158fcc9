package org.horovod4j.collectives;

import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.transport.LinkTransport;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Liveness;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.Topology;
import org.horovod4j.transport.local.LocalMemoryDomain;
import org.horovod4j.transport.local.LocalRings;
import org.horovod4j.transport.local.LocalTransport;
import org.horovod4j.transport.shm.MappedSharedMemory;
import org.horovod4j.transport.tcp.TcpTransport;
import org.horovod4j.transport.tcp.TcpTuning;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;

/// The memory and links of ranks on simulated hosts.
///
/// The caller closes a rank's memory; this class closes the transports.
final class SimulatedHosts implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final Transport transport;
    private final List<RankInfo> members = new ArrayList<>();
    private final List<LinkTransport> channels = new ArrayList<>();
    private final List<SharedMemory> memories = new ArrayList<>();

    /// @param hosts the host index of each rank
    SimulatedHosts(int size, Transport transport, IntUnaryOperator hosts, Protection protection) {
        this.transport = transport;
        LocalRings localRings = new LocalRings();
        Secret secret = Secret.random().withProtection(protection);
        List<MappedSharedMemory> files = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            String address = "";
            if (transport == Transport.SHM) {
                files.add(MappedSharedMemory.open(Path.of("/dev/shm")));
                address = files.getLast().address();
            }
            channels.add(
                    transport == Transport.LOCAL
                            ? new LocalTransport(localRings, rank)
                            : TcpTransport.listen(secret, rank, TIMEOUT, TcpTuning.DEFAULT));
            members.add(member(rank, "host" + hosts.applyAsInt(rank), address));
        }
        channels.forEach(this::setMembers);
        Map<List<Integer>, LocalMemoryDomain> domains = new HashMap<>();
        for (int rank = 0; rank < size; rank++) {
            List<Integer> domain = topology(rank).domain();
            if (files.isEmpty()) {
                memories.add(domains.computeIfAbsent(domain, LocalMemoryDomain::new).memory(rank));
            } else {
                files.get(rank).mapRegions(domain.stream().map(members::get).toList(), rank);
                memories.add(files.get(rank));
            }
        }
    }

    /// Over TCP no ranks share memory, on any host.
    private RankInfo member(int rank, String host, String address) {
        List<InetSocketAddress> addresses =
                channels.get(rank) instanceof TcpTransport sockets
                        ? sockets.addresses()
                        : List.of();
        String domain = transport == Transport.TCP ? "" : host;
        return new RankInfo(
                rank, host, host, domain, ProcessHandle.current().pid(), address, addresses);
    }

    private void setMembers(LinkTransport each) {
        if (each instanceof TcpTransport sockets) {
            sockets.setMembers(members, 0);
        }
    }

    Topology topology(int rank) {
        return Topology.of(rank, members);
    }

    SharedMemory memory(int rank) {
        return memories.get(rank);
    }

    Links links(int rank, Liveness liveness) {
        return channels.get(rank).open(0, liveness);
    }

    @Override
    public void close() {
        channels.forEach(LinkTransport::close);
    }
}
