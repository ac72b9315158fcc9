package org.horovod4j.transport.tcp;

import org.horovod4j.trust.Line;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;

/// The calls of higher ranks that were answered but not yet asked for.
///
/// Ranks do not open channels, reset, or even learn of each other, at the same moment. So a call
/// from ahead is kept until this rank has caught up, while one from behind is turned away. A caller
/// that calls anew has given up the call before, so that one of each caller is kept per channel.
final class Calls {
    /// How many calls may wait for channels that this rank has not opened: far more than ranks that
    /// are a little ahead ever make, and few enough to store.
    static final int MAX_EARLY = 4096;

    private final int rank;
    private final Map<Key, Call> waiting = new HashMap<>();
    private final Map<Integer, Long> epochs = new HashMap<>();
    private final Set<Integer> closedChannels = new HashSet<>();
    private OptionalLong world = OptionalLong.empty();
    private boolean closed;

    Calls(int rank) {
        this.rank = rank;
    }

    private record Key(int channel, int from) {}

    /// The streams of one link, as they come in.
    private static final class Call {
        private final long world;
        private final long epoch;
        private final long number;
        private final @Nullable Line[] streams;

        Call(Hello hello) {
            this.world = hello.world();
            this.epoch = hello.epoch();
            this.number = hello.call();
            this.streams = new @Nullable Line[hello.streams()];
        }

        boolean isComplete() {
            return Arrays.stream(streams).allMatch(Objects::nonNull);
        }

        List<Line> present() {
            List<Line> present = new ArrayList<>();
            for (Line stream : streams) {
                if (stream != null) {
                    present.add(stream);
                }
            }
            return present;
        }
    }

    /// What to answer; of the world nobody can judge who has not met it.
    synchronized Verdict judge(Hello hello) {
        if (hello.to() != rank) {
            return Verdict.WRONG_RANK;
        }
        if (closed || (world.isPresent() && world.getAsLong() != hello.world())) {
            return Verdict.WRONG_WORLD;
        }
        if (closedChannels.contains(hello.channel())) {
            return Verdict.CLOSED;
        }
        Long epoch = epochs.get(hello.channel());
        if (epoch == null) {
            boolean known = waiting.containsKey(new Key(hello.channel(), hello.from()));
            return known || early() < MAX_EARLY ? Verdict.WELCOME : Verdict.CROWDED;
        }
        return hello.epoch() < epoch ? Verdict.STALE : Verdict.WELCOME;
    }

    private long early() {
        return waiting.keySet().stream().filter(key -> !epochs.containsKey(key.channel)).count();
    }

    /// Keeps a stream whose caller took the welcome.
    ///
    /// @return false when it is no longer welcome, and the caller of this method should close it
    synchronized boolean keep(Hello hello, Line stream) {
        if (judge(hello) != Verdict.WELCOME) {
            return false;
        }
        Key key = new Key(hello.channel(), hello.from());
        Call call = waiting.get(key);
        if (call == null || call.number < hello.call()) {
            discard(call);
            call = new Call(hello);
            waiting.put(key, call);
        }
        if (call.number != hello.call()
                || call.streams.length != hello.streams()
                || call.streams[hello.stream()] != null) {
            return false;
        }
        call.streams[hello.stream()] = stream;
        return true;
    }

    /// The streams of the link that `peer` opened in `epoch`; null while not all are there.
    synchronized @Nullable List<Line> take(int channel, int peer, long epoch) {
        Key key = new Key(channel, peer);
        Call call = waiting.get(key);
        if (call == null || call.epoch != epoch || !call.isComplete()) {
            return null;
        }
        waiting.remove(key);
        return call.present();
    }

    /// From now on only calls of this world are welcome; those of others that came early are
    /// dropped.
    synchronized void meet(long world) {
        this.world = OptionalLong.of(world);
        waiting.values().removeIf(call -> call.world != world && discard(call));
    }

    /// Opens a channel.
    ///
    /// @throws IllegalStateException when that was done before
    synchronized void open(int channel) {
        if (closed || closedChannels.contains(channel) || epochs.putIfAbsent(channel, 0L) != null) {
            throw new IllegalStateException(
                    "rank " + rank + " has used channel " + channel + " before");
        }
    }

    /// Drops the calls to a channel of epochs before this one.
    synchronized void advance(int channel, long epoch) {
        epochs.replace(channel, epoch); // unless it was closed
        waiting.entrySet()
                .removeIf(
                        entry ->
                                entry.getKey().channel == channel
                                        && entry.getValue().epoch < epoch
                                        && discard(entry.getValue()));
    }

    /// Drops the calls to a channel, now and from now on.
    synchronized void close(int channel) {
        epochs.remove(channel);
        closedChannels.add(channel);
        waiting.entrySet()
                .removeIf(entry -> entry.getKey().channel == channel && discard(entry.getValue()));
    }

    /// Drops everything, now and from now on.
    synchronized void close() {
        closed = true;
        waiting.values().forEach(Calls::discard);
        waiting.clear();
    }

    private static boolean discard(@Nullable Call call) {
        if (call != null) {
            call.present().forEach(TcpLink::closeQuietly);
        }
        return true;
    }
}
