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

/// A server and its clients in one JVM, each client with what its listener heard.
final class RendezvousTestRanks implements AutoCloseable {
    /// Long enough that a busy machine is not taken for a silent rank.
    static final Duration CALM = Duration.ofSeconds(30);

    final Secret secret;
    final RendezvousServer server;

    /// Whom the server's owner was told of: who failed first, in each generation.
    final List<Integer> failed = new CopyOnWriteArrayList<>();

    private final int size;
    private final Duration heartbeatTimeout;
    private final List<RendezvousClient> open = new ArrayList<>();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    RendezvousTestRanks(int size) {
        this(Protection.AUTHENTICATED, size);
    }

    RendezvousTestRanks(Protection protection, int size) {
        this(protection, size, CALM, CALM);
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
                        new InetSocketAddress(0),
                        heartbeatTimeout,
                        startTimeout,
                        recordingListener());
    }

    /// Of an elastic job, whose generations have yet to be expected.
    RendezvousTestRanks(Duration startTimeout) {
        this.secret = Secret.random();
        this.size = 0;
        this.heartbeatTimeout = CALM;
        this.server =
                RendezvousServer.startElastic(
                        secret, new InetSocketAddress(0), CALM, startTimeout, recordingListener());
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

    /// One client and its news.
    static final class Rank implements ControlPlane.Listener {
        final RendezvousClient client;
        final RankInfo card;
        final BlockingQueue<RankDeparture> losses = new LinkedBlockingQueue<>();
        volatile Supplier<byte[]> state = () -> new byte[0];

        Rank(RendezvousClient client, RankInfo card) {
            this.client = client;
            this.card = card;
        }

        List<RankInfo> join() {
            return client.join(card, this);
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

    synchronized Rank rank(int rank, int believedSize, int generation) {
        RendezvousClient client =
                new RendezvousClient(
                        secret,
                        List.of(address()),
                        rank,
                        believedSize,
                        generation,
                        heartbeatTimeout,
                        CALM);
        open.add(client);
        return new Rank(client, member(rank));
    }

    static RankInfo member(int rank) {
        return new RankInfo(
                rank,
                "host" + rank,
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

    /// Does something on all ranks at once and waits for all, throwing what any threw.
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
