package org.horovod4j.collectives;

import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.Member;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.transport.Channels;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Liveness;
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

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.IntStream;

/// The backends of all ranks of a [Layout], each on a thread of its own, with no runtime above them: a
/// test calls them as the runtime would.
final class BackendWorld implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Layout layout;
    private final List<Backend> backends = new ArrayList<>();
    private final ExecutorService threads;

    /// How often each rank, while it waited, has asked whether to go on.
    private final AtomicLongArray questions;

    private final List<Channels> channels = new ArrayList<>();
    private volatile boolean abandoned;

    BackendWorld(Layout layout) {
        this(layout, AllreduceChoice.AUTO);
    }

    BackendWorld(Layout layout, AllreduceChoice allreduce) {
        this.layout = layout;
        this.questions = new AtomicLongArray(layout.size());
        this.threads = Executors.newFixedThreadPool(layout.size());
        Site site = layout.transport() == Transport.LOCAL ? local() : mapped();
        boolean crowded = layout.size() > Runtime.getRuntime().availableProcessors();
        for (int rank = 0; rank < layout.size(); rank++) {
            Patience patience = new Patience(liveness(rank), Clock.SYSTEM, crowded);
            AllreduceSelector selector = new AllreduceSelector(CostModel.DEFAULT, allreduce);
            Topology topology = Topology.of(rank, site.members);
            Wire wire = new Wire(site.links.get(rank), patience);
            backends.add(
                    new CpuBackend(
                            new Neighbourhood(site.memories.get(rank), patience),
                            new Across(topology, wire, selector),
                            Kernels.best()));
        }
    }

    /// What a rank does.
    @FunctionalInterface
    interface Body {
        void run(int rank, Backend backend) throws Exception;
    }

    /// What a rank does and returns.
    @FunctionalInterface
    interface Function<T> {
        T apply(int rank, Backend backend) throws Exception;
    }

    /// Thrown in every rank that waits in a world that was given up.
    static final class AbandonedException extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    static void run(Layout layout, Body body) {
        try (BackendWorld world = new BackendWorld(layout)) {
            world.run(body);
        }
    }

    int size() {
        return layout.size();
    }

    /// Runs `body` on each rank and returns when all have ended. Those that are left waiting by one that
    /// fails are given up.
    void run(Body body) {
        List<Boolean> _ =
                call(
                        (rank, backend) -> {
                            body.run(rank, backend);
                            return true;
                        });
    }

    /// Runs `function` on each rank and returns the results, by rank.
    <T> List<T> call(Function<T> function) {
        List<Future<T>> futures =
                IntStream.range(0, size()).mapToObj(rank -> start(rank, function)).toList();
        List<T> results = new ArrayList<>();
        AssertionError failure = null;
        for (Future<T> future : futures) {
            try {
                results.add(future.get());
            } catch (ExecutionException e) {
                boolean first = failure == null || failure.getCause() instanceof AbandonedException;
                AssertionError next = new AssertionError("a rank failed", e.getCause());
                if (first) {
                    failure = next;
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while the world was running", e);
            }
        }
        if (failure != null) {
            throw failure;
        }
        return results;
    }

    /// Runs `function` on one rank alone.
    <T> Future<T> start(int rank, Function<T> function) {
        return threads.submit(
                () -> {
                    try {
                        return function.apply(rank, backends.get(rank));
                    } catch (Exception | Error e) {
                        abandoned = true;
                        throw e;
                    }
                });
    }

    /// How often `rank`, while it waited, has asked whether to go on.
    long questions(int rank) {
        return questions.get(rank);
    }

    /// Makes every rank that waits throw.
    void abandon() {
        abandoned = true;
    }

    /// Starts afresh on all ranks, none of which is in an operation.
    void reset() {
        backends.forEach(Backend::reset);
        abandoned = false;
    }

    @Override
    public void close() {
        threads.close();
        backends.forEach(Backend::close);
        channels.forEach(Channels::close);
    }

    private Liveness liveness(int rank) {
        return () -> {
            questions.incrementAndGet(rank);
            if (abandoned) {
                throw new AbandonedException();
            }
        };
    }

    private record Site(List<Member> members, List<SharedMemory> memories, List<Links> links) {}

    private Site local() {
        List<Member> members = new ArrayList<>();
        List<LocalDomain> domains =
                IntStream.range(0, layout.hosts())
                        .mapToObj(host -> new LocalDomain(ranksOf(host)))
                        .toList();
        Exchange exchange = new Exchange();
        List<SharedMemory> memories = new ArrayList<>();
        List<Links> links = new ArrayList<>();
        for (int rank = 0; rank < size(); rank++) {
            members.add(new Member(rank, host(rank), host(rank), 0, "", List.of()));
            memories.add(domains.get(rank % layout.hosts()).memory(rank));
            links.add(new LocalChannels(exchange, rank).open(0, liveness(rank)));
        }
        return new Site(members, memories, links);
    }

    private Site mapped() {
        boolean shares = layout.transport() == Transport.SHM;
        Secret secret = Secret.random().with(Protection.of(layout.tls()));
        List<Member> members = new ArrayList<>();
        List<HostMemory> files = new ArrayList<>();
        List<TcpChannels> sockets = new ArrayList<>();
        for (int rank = 0; rank < size(); rank++) {
            TcpChannels links = TcpChannels.listen(secret, rank, PATIENCE, TcpTuning.DEFAULT);
            sockets.add(links);
            String address = "";
            if (shares) {
                files.add(HostMemory.open(Path.of("/dev/shm")));
                address = files.getLast().address();
            }
            String domain = shares ? host(rank) : "";
            long pid = ProcessHandle.current().pid();
            members.add(new Member(rank, host(rank), domain, pid, address, links.addresses()));
        }
        List<SharedMemory> memories = new ArrayList<>();
        List<Links> links = new ArrayList<>();
        for (int rank = 0; rank < size(); rank++) {
            sockets.get(rank).meet(members, 0);
            links.add(sockets.get(rank).open(0, liveness(rank)));
            if (shares) {
                String own = host(rank);
                files.get(rank)
                        .meet(members.stream().filter(m -> m.domain().equals(own)).toList(), rank);
                memories.add(files.get(rank));
            } else {
                memories.add(new LocalDomain(List.of(rank)).memory(rank));
            }
        }
        channels.addAll(sockets);
        return new Site(members, memories, links);
    }

    /// Hosts take turns, so that the ranks of one do not follow each other.
    private String host(int rank) {
        return "host" + rank % layout.hosts();
    }

    private List<Integer> ranksOf(int host) {
        return IntStream.range(0, size())
                .filter(rank -> rank % layout.hosts() == host)
                .boxed()
                .toList();
    }
}
