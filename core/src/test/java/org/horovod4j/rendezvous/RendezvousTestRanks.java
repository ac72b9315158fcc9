package org.horovod4j.rendezvous;

import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.RankDeparture;
import org.horovod4j.spi.RankInfo;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import java.util.function.Supplier;

/// A server and its clients in one JVM. Each client records what it received.
final class RendezvousTestRanks implements AutoCloseable {
    /// Long enough that a rank on a busy machine does not look silent.
    static final Duration LONG = Duration.ofSeconds(30);

    final Secret secret;
    final RendezvousServer server;

    /// The first rank to fail in each generation, as the server reported it.
    final List<Integer> failed = new CopyOnWriteArrayList<>();

    private final int size;
    private final Duration heartbeatTimeout;
    private final List<RendezvousClient> open = new ArrayList<>();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    RendezvousTestRanks(int size) {
        this(Protection.AUTHENTICATED, size);
    }

    RendezvousTestRanks(Protection protection, int size) {
        this(protection, size, LONG, LONG);
    }

    RendezvousTestRanks(
            Protection protection, int size, Duration heartbeatTimeout, Duration startTimeout) {
        this.secret = Secret.random().withProtection(protection);
        this.size = size;
        this.heartbeatTimeout = heartbeatTimeout;
        this.server =
                RendezvousServer.start(
                        secret,
                        size,
                        List.of(new InetSocketAddress(0)),
                        heartbeatTimeout,
                        startTimeout,
                        recordingListener());
    }

    /// An elastic job. The test announces its generations.
    RendezvousTestRanks(Duration startTimeout) {
        this.secret = Secret.random();
        this.size = 0;
        this.heartbeatTimeout = LONG;
        this.server =
                RendezvousServer.startElastic(
                        secret,
                        List.of(new InetSocketAddress(0)),
                        LONG,
                        startTimeout,
                        recordingListener());
    }

    private MembershipListener recordingListener() {
        return new MembershipListener() {
            @Override
            public void joined(int rank) {}

            @Override
            public void failed(int rank, String reason) {
                failed.add(rank);
            }
        };
    }

    /// One client and the losses it received.
    static final class Rank implements ControlPlane.Listener {
        final RendezvousClient client;
        final RankInfo info;
        final BlockingQueue<RankDeparture> losses = new LinkedBlockingQueue<>();
        volatile Supplier<byte[]> state = () -> new byte[0];

        Rank(RendezvousClient client, RankInfo info) {
            this.client = client;
            this.info = info;
        }

        List<RankInfo> join() {
            return client.join(info, this);
        }

        @Override
        public void rankDeparted(RankDeparture rankDeparture) {
            losses.add(rankDeparture);
        }

        @Override
        public byte[] describe() {
            return state.get();
        }
    }

    InetSocketAddress address() {
        return InetSocketAddress.createUnresolved("localhost", server.address().getPort());
    }

    Rank rank(int rank) {
        return rank(rank, size, 0);
    }

    synchronized Rank rank(int rank, int reportedSize, int generation) {
        RendezvousClient client =
                new RendezvousClient(
                        secret,
                        List.of(address()),
                        rank,
                        reportedSize,
                        generation,
                        heartbeatTimeout,
                        LONG);
        open.add(client);
        return new Rank(client, member(rank));
    }

    static RankInfo member(int rank) {
        return new RankInfo(
                rank,
                "host" + rank,
                "machine" + rank,
                "domain",
                1000 + rank,
                "",
                List.of(new InetSocketAddress("10.0.0." + (rank + 1), 4000)));
    }

    /// All ranks of a generation, joined.
    List<Rank> joined(int generation) throws Exception {
        List<Rank> ranks = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            ranks.add(rank(i, size, generation));
        }
        onEach(ranks, Rank::join);
        return ranks;
    }

    /// Runs an action on all ranks at once, waits for all, and rethrows.
    void onEach(List<Rank> ranks, Consumer<Rank> action) throws Exception {
        List<Future<?>> running = new ArrayList<>();
        for (Rank rank : ranks) {
            running.add(async(() -> action.accept(rank)));
        }
        for (Future<?> each : running) {
            each.get();
        }
    }

    Future<?> async(Runnable action) {
        return threads.submit(action);
    }

    @Override
    public void close() {
        server.close();
        for (RendezvousClient each : open) {
            each.close();
        }
        threads.close();
    }
}
