package org.horovod4j.testing;

import org.horovod4j.Communicator;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.log.Log;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.rendezvous.LocalRendezvous;
import org.horovod4j.rendezvous.RendezvousClient;
import org.horovod4j.rendezvous.RendezvousServer;
import org.horovod4j.runtime.HostSharedMemoryFactory;
import org.horovod4j.runtime.Rank;
import org.horovod4j.runtime.RankContext;
import org.horovod4j.runtime.SharedMemoryFactory;
import org.horovod4j.runtime.backend.HostBackends;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.runtime.device.DeviceLibraries;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.HostBackendProvider;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.LinkTransport;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.local.LocalRings;
import org.horovod4j.transport.local.LocalTransport;
import org.horovod4j.transport.tcp.TcpTransport;
import org.horovod4j.transport.tcp.TcpTuning;
import org.jspecify.annotations.Nullable;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/// A world of several ranks in one JVM, each on its own thread.
///
/// ```java
/// World.run(4, comm -> {
///     float[] tensor = {comm.rank()};
///     comm.allreduce("tensor", tensor, ReduceOp.SUM);
///     assertEquals(6, tensor[0]);
/// });
/// ```
///
/// By default the ranks share ordinary memory. [#via] selects mapped files or real sockets instead,
/// and [#hosts] distributes the ranks over simulated hosts that do not share memory.
public final class World {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final int size;
    private final int hosts;
    private final Transport transport;
    private final AllreduceChoice allreduce;
    private final Kernels kernels;
    private final RuntimeSettings settings;
    private final IntFunction<List<HostBackendProvider>> hostBackends;
    private final IntFunction<DeviceLibraries> deviceLibraries;

    private World(
            int size,
            int hosts,
            Transport transport,
            AllreduceChoice allreduce,
            Kernels kernels,
            RuntimeSettings settings,
            IntFunction<List<HostBackendProvider>> hostBackends,
            IntFunction<DeviceLibraries> deviceLibraries) {
        this.size = size;
        this.hosts = hosts;
        this.transport = transport;
        this.allreduce = allreduce;
        this.kernels = kernels;
        this.settings = settings;
        this.hostBackends = hostBackends;
        this.deviceLibraries = deviceLibraries;
    }

    /// How bytes are transferred.
    public enum Transport {
        /// Ordinary memory within a host, rings between hosts.
        LOCAL,
        /// Mapped files within a host, sockets between hosts.
        SHM,
        /// Sockets between all ranks.
        TCP
    }

    /// The program of a rank.
    @FunctionalInterface
    public interface Body {
        void run(Communicator communicator) throws Exception;
    }

    /// The program of a rank, with a result.
    @FunctionalInterface
    public interface CallableBody<T> {
        T apply(Communicator communicator) throws Exception;
    }

    /// A world of `size` ranks on one host.
    public static World of(int size) {
        return new World(
                size,
                1,
                Transport.LOCAL,
                AllreduceChoice.AUTO,
                Kernels.best(),
                RuntimeSettings.DEFAULT,
                _ -> HostBackends.load(),
                _ -> DeviceLibraries.load());
    }

    /// Runs `body` on each of `size` ranks and returns when all have finished.
    public static void run(int size, Body body) {
        of(size).run(body);
    }

    /// A copy of this world that uses another transport.
    public World via(Transport other) {
        return new World(
                size, hosts, other, allreduce, kernels, settings, hostBackends, deviceLibraries);
    }

    /// A copy of this world with `count` hosts. If the ranks do not divide evenly, the first hosts
    /// get one more each.
    public World hosts(int count) {
        return new World(
                size,
                count,
                transport,
                allreduce,
                kernels,
                settings,
                hostBackends,
                deviceLibraries);
    }

    /// A copy of this world with the given options, named like environment variables.
    public World with(Map<String, String> options) {
        Environment environment = new Environment(options);
        return new World(
                size,
                hosts,
                transport,
                environment.get(Options.ALLREDUCE_ALGORITHM),
                kernels,
                RuntimeSettings.from(environment),
                hostBackends,
                deviceLibraries);
    }

    /// A copy of this world with other drivers and backends for devices, by rank.
    World withDevices(IntFunction<DeviceLibraries> libraries) {
        return new World(
                size, hosts, transport, allreduce, kernels, settings, hostBackends, libraries);
    }

    /// A copy of this world with other backends for tensors in main memory, by rank.
    World withHostBackends(IntFunction<List<HostBackendProvider>> backends) {
        return new World(
                size, hosts, transport, allreduce, kernels, settings, backends, deviceLibraries);
    }

    /// Runs `body` on each rank and returns when all have finished.
    ///
    /// @throws AssertionError or any other exception of the first rank that fails; the exceptions
    ///     of the other ranks are suppressed in it
    public void run(Body body) {
        List<Boolean> _ =
                call(
                        communicator -> {
                            body.run(communicator);
                            return true;
                        });
    }

    /// Runs `body` on each rank and returns the results, by rank.
    public <T> List<T> call(CallableBody<T> body) {
        AtomicReference<@Nullable Throwable> first = new AtomicReference<>();
        try (RankFactory rankFactory =
                        transport == Transport.LOCAL
                                ? new LocalRankFactory()
                                : new SocketRankFactory();
                ExecutorService threads =
                        Executors.newFixedThreadPool(
                                size, Thread.ofPlatform().name("rank-", 0).factory())) {
            List<Future<T>> futures =
                    IntStream.range(0, size)
                            .mapToObj(
                                    rank ->
                                            threads.submit(
                                                    () -> runRank(rankFactory, rank, body, first)))
                            .toList();
            return results(futures, first);
        }
    }

    private <T> T runRank(
            RankFactory rankFactory,
            int rank,
            CallableBody<T> body,
            AtomicReference<@Nullable Throwable> first)
            throws Exception {
        Log.setThreadRank(rank);
        RankContext context = null;
        Rank running = null;
        try {
            context = rankFactory.parts(rank);
            running = Rank.start(context);
            T result = body.apply(running.communicator());
            running.close();
            return result;
        } catch (Exception | Error e) {
            first.compareAndSet(null, e);
            if (running != null) {
                running.abort("its body threw " + e);
            } else if (context != null) {
                context.control().leave(Map.of(), false, "could not start: " + e);
            }
            throw e;
        }
    }

    private static <T> List<T> results(
            List<Future<T>> futures, AtomicReference<@Nullable Throwable> first) {
        List<T> results = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        for (Future<T> future : futures) {
            try {
                results.add(future.get());
            } catch (ExecutionException e) {
                failures.add(e.getCause());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while the world was running", e);
            }
        }
        Throwable failure = first.get();
        if (failure == null) {
            return results;
        }
        failures.remove(failure);
        failures.forEach(failure::addSuppressed);
        switch (failure) {
            case Error error -> throw error;
            case RuntimeException exception -> throw exception;
            default -> throw new IllegalStateException(failure);
        }
    }

    private String host(int rank) {
        return "host" + hostIndex(rank);
    }

    private int hostIndex(int rank) {
        int largerHosts = size % hosts;
        int minRanks = size / hosts;
        return rank < largerHosts * (minRanks + 1)
                ? rank / (minRanks + 1)
                : largerHosts + (rank - largerHosts * (minRanks + 1)) / minRanks;
    }

    /// Creates the components of each rank.
    private interface RankFactory extends AutoCloseable {
        RankContext parts(int rank);

        @Override
        void close();
    }

    private final class LocalRankFactory implements RankFactory {
        private final LocalRendezvous rendezvous = new LocalRendezvous(size);
        private final LocalRings localRings = new LocalRings();
        private final LocalSharing memories = new LocalSharing();

        @Override
        public RankContext parts(int rank) {
            WorldState state = new WorldState();
            ControlPlane control = rendezvous.controlPlane(rank);
            RankInfo self =
                    new RankInfo(rank, host(rank), host(rank), host(rank), 0, "", List.of());
            List<RankInfo> members = control.join(self, state);
            LinkTransport linkTransport = new LocalTransport(localRings, rank);
            SharedMemory memory = memories.open(0).map(members, rank);
            return World.this.parts(rank, members, control, state, memory, memories, linkTransport);
        }

        @Override
        public void close() {}
    }

    private final class SocketRankFactory implements RankFactory {
        private final Secret secret = Secret.random().withProtection(Protection.of(settings.tls()));
        private final RendezvousServer server =
                RendezvousServer.start(
                        secret,
                        size,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        TIMEOUT,
                        TIMEOUT);

        @Override
        public RankContext parts(int rank) {
            WorldState state = new WorldState();
            ControlPlane control =
                    new RendezvousClient(
                            secret, List.of(server.address()), rank, size, 0, TIMEOUT, TIMEOUT);
            TcpTransport channels = TcpTransport.listen(secret, rank, TIMEOUT, TcpTuning.DEFAULT);
            HostSharedMemoryFactory sharing =
                    transport == Transport.SHM
                            ? HostSharedMemoryFactory.within(host(rank), Path.of("/dev/shm"))
                            : HostSharedMemoryFactory.disabled();
            SharedMemoryFactory.Region region = sharing.open(0);
            RankInfo self =
                    new RankInfo(
                            rank,
                            host(rank),
                            host(rank),
                            sharing.domain(),
                            ProcessHandle.current().pid(),
                            region.address(),
                            channels.addresses());
            List<RankInfo> members = control.join(self, state);
            channels.setMembers(members, 0);
            SharedMemory memory = region.map(members, rank);
            control.allgather("memory mapped", new byte[0]);
            return World.this.parts(rank, members, control, state, memory, sharing, channels);
        }

        @Override
        public void close() {
            server.close();
        }
    }

    private RankContext parts(
            int rank,
            List<RankInfo> members,
            ControlPlane control,
            WorldState state,
            SharedMemory memory,
            SharedMemoryFactory sharedMemoryFactory,
            LinkTransport linkTransport) {
        return new RankContext(
                rank,
                members,
                control,
                state,
                memory,
                sharedMemoryFactory,
                linkTransport,
                Clock.SYSTEM,
                kernels,
                allreduce,
                null,
                null,
                settings,
                () -> hostBackends.apply(rank),
                () -> deviceLibraries.apply(rank));
    }
}
