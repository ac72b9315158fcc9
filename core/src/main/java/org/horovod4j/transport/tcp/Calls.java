package org.horovod4j.transport.tcp;

import org.jspecify.annotations.Nullable;

import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;

/// The calls of higher ranks that were answered but not yet asked for.
///
/// Ranks do not reset, or even learn of each other, at the same moment. So a call from ahead is
/// kept until this rank has caught up, while one from behind is turned away.
final class Calls {
    private final int rank;
    private final Map<Key, Call> waiting = new HashMap<>();
    private OptionalLong world = OptionalLong.empty();
    private long epoch;
    private boolean closed;

    Calls(int rank) {
        this.rank = rank;
    }

    private record Key(long epoch, int from) {}

    /// The streams of one link, as they come in.
    private static final class Call {
        private final long world;
        private final long number;
        private final @Nullable SocketChannel[] streams;

        Call(Hello hello) {
            this.world = hello.world();
            this.number = hello.call();
            this.streams = new @Nullable SocketChannel[hello.streams()];
        }

        boolean isComplete() {
            return Arrays.stream(streams).allMatch(Objects::nonNull);
        }

        List<SocketChannel> present() {
            List<SocketChannel> present = new ArrayList<>();
            for (SocketChannel stream : streams) {
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
        return hello.epoch() < epoch ? Verdict.STALE : Verdict.WELCOME;
    }

    /// Keeps a stream whose caller took the welcome.
    ///
    /// @return false when it is no longer welcome, and the caller of this method should close it
    synchronized boolean keep(Hello hello, SocketChannel stream) {
        if (judge(hello) != Verdict.WELCOME) {
            return false;
        }
        Key key = new Key(hello.epoch(), hello.from());
        Call call = waiting.get(key);
        if (call == null || call.number < hello.call()) { // the caller gave up the one before
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
    synchronized @Nullable List<SocketChannel> take(int peer, long epoch) {
        Key key = new Key(epoch, peer);
        Call call = waiting.get(key);
        if (call == null || !call.isComplete()) {
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

    /// Drops the calls of epochs before this one.
    synchronized void advance(long epoch) {
        this.epoch = epoch;
        waiting.entrySet()
                .removeIf(entry -> entry.getKey().epoch() < epoch && discard(entry.getValue()));
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
