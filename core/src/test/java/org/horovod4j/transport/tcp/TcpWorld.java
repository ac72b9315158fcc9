package org.horovod4j.transport.tcp;

import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Liveness;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/// The transports of several ranks in one JVM. Each rank opens channel 0.
final class TcpWorld implements AutoCloseable {
    static final Duration TIMEOUT = Duration.ofSeconds(30);

    final List<TcpTransport> channels = new ArrayList<>();
    final List<RankInfo> members = new ArrayList<>();
    private final Map<Integer, Links> links = new ConcurrentHashMap<>();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    /// @param streams connections per link; all links are between hosts
    TcpWorld(Protection protection, int size, int streams) {
        Secret secret = Secret.random().withProtection(protection);
        TcpTuning tuning = new TcpTuning(streams, 1, TcpTuning.DEFAULT.sockets());
        for (int rank = 0; rank < size; rank++) {
            TcpTransport own = TcpTransport.listen(secret, rank, TIMEOUT, tuning);
            channels.add(own);
            members.add(
                    new RankInfo(
                            rank, "host" + rank, "machine" + rank, "", 1, "", own.addresses()));
        }
    }

    static TcpWorld joined(int size, int streams) {
        return joined(Protection.AUTHENTICATED, size, streams);
    }

    static TcpWorld joined(Protection protection, int size, int streams) {
        TcpWorld world = new TcpWorld(protection, size, streams);
        IntStream.range(0, size).forEach(rank -> world.join(rank, 1, () -> {}));
        return world;
    }

    Links join(int rank, long id, Liveness liveness) {
        TcpTransport own = channels.get(rank);
        own.setMembers(members, id);
        Links opened = own.open(0, liveness);
        links.put(rank, opened);
        return opened;
    }

    /// Channel 0 of a rank.
    Links links(int rank) {
        return Objects.requireNonNull(links.get(rank));
    }

    /// Opens another channel.
    Links open(int rank, int channel) {
        return channels.get(rank).open(channel, () -> {});
    }

    /// Runs `action` on all ranks at the same time and waits for all.
    void onEach(IntConsumer action) throws Exception {
        List<Future<?>> running = new ArrayList<>();
        IntStream.range(0, channels.size())
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
        channels.forEach(TcpTransport::close);
        threads.close();
    }
}
