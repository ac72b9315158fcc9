package org.horovod4j.collectives;

import org.horovod4j.spi.Member;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.transport.Channels;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Liveness;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.Topology;
import org.horovod4j.transport.local.Exchange;
import org.horovod4j.transport.local.LocalChannels;
import org.horovod4j.transport.local.LocalDomain;
import org.horovod4j.transport.shm.HostMemory;
import org.horovod4j.transport.tcp.TcpChannels;
import org.horovod4j.transport.tcp.TcpTuning;
import org.horovod4j.trust.Protection;
import org.horovod4j.trust.Secret;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;

/// Where the ranks of a test are: their memory and their links, on hosts that are pretended.
///
/// Whoever gets a rank's memory closes it; the site closes what opens links.
final class Site implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Transport transport;
    private final List<Member> members = new ArrayList<>();
    private final List<Channels> channels = new ArrayList<>();
    private final List<SharedMemory> memories = new ArrayList<>();

    /// @param hosts the number of each rank's host
    Site(int size, Transport transport, IntUnaryOperator hosts, Protection protection) {
        this.transport = transport;
        Exchange exchange = new Exchange();
        Secret secret = Secret.random().with(protection);
        List<HostMemory> files = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            String address = "";
            if (transport == Transport.SHM) {
                files.add(HostMemory.open(Path.of("/dev/shm")));
                address = files.getLast().address();
            }
            channels.add(
                    transport == Transport.LOCAL
                            ? new LocalChannels(exchange, rank)
                            : TcpChannels.listen(secret, rank, PATIENCE, TcpTuning.DEFAULT));
            members.add(member(rank, "host" + hosts.applyAsInt(rank), address));
        }
        channels.forEach(this::meet);
        Map<List<Integer>, LocalDomain> domains = new HashMap<>();
        for (int rank = 0; rank < size; rank++) {
            List<Integer> domain = topology(rank).domain();
            if (files.isEmpty()) {
                memories.add(domains.computeIfAbsent(domain, LocalDomain::new).memory(rank));
            } else {
                files.get(rank).meet(domain.stream().map(members::get).toList(), rank);
                memories.add(files.get(rank));
            }
        }
    }

    /// Over TCP no two ranks share memory, whatever their hosts.
    private Member member(int rank, String host, String address) {
        List<InetSocketAddress> addresses =
                channels.get(rank) instanceof TcpChannels sockets ? sockets.addresses() : List.of();
        String domain = transport == Transport.TCP ? "" : host;
        return new Member(rank, host, domain, ProcessHandle.current().pid(), address, addresses);
    }

    private void meet(Channels each) {
        if (each instanceof TcpChannels sockets) {
            sockets.meet(members, 0);
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
        channels.forEach(Channels::close);
    }
}
