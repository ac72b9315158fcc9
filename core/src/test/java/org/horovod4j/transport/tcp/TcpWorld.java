package org.horovod4j.transport.tcp;

import org.horovod4j.spi.Member;
import org.horovod4j.transport.Liveness;
import org.horovod4j.trust.Secret;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/// The links of several ranks in one JVM, which have met.
final class TcpWorld implements AutoCloseable {
    static final Duration TIMEOUT = Duration.ofSeconds(30);

    final List<TcpLinks> ranks = new ArrayList<>();
    final List<Member> members = new ArrayList<>();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    /// @param streams connections per link, which are all between hosts
    TcpWorld(int size, int streams) {
        Secret secret = Secret.random();
        TcpTuning tuning = new TcpTuning(streams, 1, TcpTuning.DEFAULT.sockets());
        for (int rank = 0; rank < size; rank++) {
            TcpLinks links = TcpLinks.open(secret, rank, TIMEOUT, tuning);
            ranks.add(links);
            members.add(new Member(rank, "host" + rank, "", 1, "", links.addresses()));
        }
    }

    static TcpWorld met(int size, int streams) {
        TcpWorld world = new TcpWorld(size, streams);
        world.ranks.forEach(links -> links.meet(world.members, 1, () -> {}));
        return world;
    }

    TcpLinks meet(int rank, long id, Liveness liveness) {
        TcpLinks links = ranks.get(rank);
        links.meet(members, id, liveness);
        return links;
    }

    /// Does something on all ranks at once and waits for all.
    void onEach(Consumer<Integer> action) throws Exception {
        List<Future<?>> running = new ArrayList<>();
        IntStream.range(0, ranks.size())
                .forEach(rank -> running.add(async(() -> action.accept(rank))));
        for (Future<?> each : running) {
            each.get();
        }
    }

    Future<?> async(Runnable action) {
        return threads.submit(action);
    }

    @Override
    public void close() {
        ranks.forEach(TcpLinks::close);
        threads.close();
    }
}
