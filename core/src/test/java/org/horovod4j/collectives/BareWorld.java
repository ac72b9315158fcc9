package org.horovod4j.collectives;

import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.spi.Member;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.transport.Channels;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Patience;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.Topology;
import org.horovod4j.transport.Wire;
import org.horovod4j.transport.local.Exchange;
import org.horovod4j.transport.local.LocalChannels;
import org.horovod4j.transport.local.LocalDomain;
import org.horovod4j.transport.shm.HostMemory;
import org.horovod4j.transport.tcp.TcpChannels;
import org.horovod4j.transport.tcp.TcpTuning;
import org.horovod4j.trust.Protection;
import org.horovod4j.trust.Secret;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/// Ranks with memory and links but without a runtime above: a collective can be run by itself, on
/// any placement of the ranks and with other kernels on each.
final class BareWorld {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final int size;
    private final Transport transport;
    private final IntUnaryOperator hosts;
    private final IntFunction<Kernels> kernels;
    private final Protection protection;

    private BareWorld(
            int size,
            Transport transport,
            IntUnaryOperator hosts,
            IntFunction<Kernels> kernels,
            Protection protection) {
        this.protection = protection;
        this.size = size;
        this.transport = transport;
        this.hosts = hosts;
        this.kernels = kernels;
    }

    /// Neighbouring ranks share a host.
    static BareWorld of(Layout layout) {
        return new BareWorld(
                layout.size(),
                layout.transport(),
                rank -> rank * layout.hosts() / layout.size(),
                _ -> Kernels.best(),
                Protection.of(layout.tls()));
    }

    /// The same ranks on other hosts.
    BareWorld placed(IntUnaryOperator hostOfRank) {
        return new BareWorld(size, transport, hostOfRank, kernels, protection);
    }

    /// The same ranks with kernels for each.
    BareWorld calculating(IntFunction<Kernels> kernelsOfRank) {
        return new BareWorld(size, transport, hosts, kernelsOfRank, protection);
    }

    /// What a rank has.
    record Place(
            int rank,
            Channels channels,
            Neighbourhood near,
            Across across,
            Kernels kernels,
            Scratch scratch) {}

    /// Runs `body` on each rank and returns the results, by rank.
    <T> List<T> call(Function<Place, T> body) {
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        try (Arena arena = Arena.ofShared();
                ExecutorService threads = Executors.newFixedThreadPool(size)) {
            List<Place> places = places(arena, failure);
            List<Future<T>> futures =
                    places.stream()
                            .map(place -> threads.submit(() -> guarded(body, place, failure)))
                            .toList();
            try {
                return results(futures, failure);
            } finally {
                for (Place place : places) {
                    place.across().close();
                    place.channels().close();
                    place.near().memory().close();
                    place.scratch().close();
                }
            }
        }
    }

    private static <T> T guarded(
            Function<Place, T> body, Place place, AtomicReference<@Nullable Throwable> failure) {
        try {
            return body.apply(place);
        } catch (RuntimeException | Error e) {
            failure.compareAndSet(null, e);
            throw e;
        }
    }

    private static <T> List<T> results(
            List<Future<T>> futures, AtomicReference<@Nullable Throwable> failure) {
        List<T> results = new ArrayList<>();
        for (Future<T> future : futures) {
            try {
                results.add(future.get());
            } catch (ExecutionException e) {
                failure.compareAndSet(null, e.getCause());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            }
        }
        switch (failure.get()) {
            case null -> {}
            case Error error -> throw error;
            case RuntimeException exception -> throw exception;
            case Throwable other -> throw new IllegalStateException(other);
        }
        return results;
    }

    private List<Place> places(Arena arena, AtomicReference<@Nullable Throwable> failure) {
        List<Channels> channels = new ArrayList<>();
        Map<Integer, HostMemory> mapped = new HashMap<>();
        List<Member> members = new ArrayList<>();
        Secret secret = Secret.random().with(protection);
        Exchange exchange = new Exchange();
        for (int rank = 0; rank < size; rank++) {
            String host = "host" + hosts.applyAsInt(rank);
            String address = "";
            List<InetSocketAddress> addresses = List.of();
            if (transport == Transport.LOCAL) {
                channels.add(new LocalChannels(exchange, rank));
            } else {
                TcpChannels sockets = TcpChannels.listen(secret, rank, PATIENCE, TcpTuning.DEFAULT);
                channels.add(sockets);
                addresses = sockets.addresses();
            }
            if (transport == Transport.SHM) {
                HostMemory memory = HostMemory.open(Path.of("/dev/shm"));
                mapped.put(rank, memory);
                address = memory.address();
            }
            String domain = transport == Transport.TCP ? "" : host;
            long pid = ProcessHandle.current().pid();
            members.add(new Member(rank, host, domain, pid, address, addresses));
        }
        Map<List<Integer>, LocalDomain> domains = new HashMap<>();
        return IntStream.range(0, size)
                .mapToObj(
                        rank -> {
                            Topology topology = Topology.of(rank, members);
                            SharedMemory memory =
                                    mapped.containsKey(rank)
                                            ? meet(mapped.get(rank), topology, members)
                                            : domains.computeIfAbsent(
                                                            topology.domain(), LocalDomain::new)
                                                    .memory(rank);
                            if (channels.get(rank) instanceof TcpChannels sockets) {
                                sockets.meet(members, 0);
                            }
                            return place(arena, topology, memory, channels.get(rank), failure);
                        })
                .toList();
    }

    private static SharedMemory meet(HostMemory memory, Topology topology, List<Member> members) {
        memory.meet(topology.domain().stream().map(members::get).toList(), topology.rank());
        return memory;
    }

    private Place place(
            Arena arena,
            Topology topology,
            SharedMemory memory,
            Channels channels,
            AtomicReference<@Nullable Throwable> failure) {
        Links links = channels.open(0, () -> check(failure));
        Patience patience = new Patience(() -> check(failure), Clock.SYSTEM, true);
        AllreduceSelector selector = new AllreduceSelector(CostModel.DEFAULT, AllreduceChoice.AUTO);
        return new Place(
                topology.rank(),
                channels,
                new Neighbourhood(memory, patience),
                new Across(topology, new Wire(links, patience), selector),
                kernels.apply(topology.rank()),
                new Scratch(arena));
    }

    /// A rank that failed would leave the others waiting.
    private static void check(AtomicReference<@Nullable Throwable> failure) {
        Throwable first = failure.get();
        if (first != null) {
            throw new IllegalStateException("another rank failed", first);
        }
    }
}
