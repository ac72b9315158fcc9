package org.horovod4j.transport.tcp;

import org.horovod4j.security.SecureConnection;
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

/// Accepted connections of higher ranks that this rank has not used yet.
///
/// Ranks do not open or reset channels, or learn about each other, at the same time. A connection
/// from a rank that is ahead is kept until this rank catches up. A connection from a rank that is
/// behind is rejected. Each rank has at most one pending link per channel: a new attempt replaces
/// the earlier one.
final class PendingConnections {
    /// How many links may wait for channels that this rank has not opened. Ranks that are slightly
    /// ahead open far fewer. Limits the memory.
    static final int MAX_EARLY = 4096;

    private final int rank;
    private final Map<Key, PendingConnection> pending = new HashMap<>();
    private final Map<Integer, Long> epochs = new HashMap<>();
    private final Set<Integer> closedChannels = new HashSet<>();
    private OptionalLong world = OptionalLong.empty();
    private boolean closed;

    PendingConnections(int rank) {
        this.rank = rank;
    }

    private record Key(int channel, int from) {}

    /// The streams of one link. They arrive one by one.
    private static final class PendingConnection {
        private final long world;
        private final long epoch;
        private final long attempt;
        private final @Nullable SecureConnection[] streams;

        PendingConnection(LinkHello hello) {
            this.world = hello.worldId();
            this.epoch = hello.epoch();
            this.attempt = hello.attempt();
            this.streams = new @Nullable SecureConnection[hello.streams()];
        }

        boolean isComplete() {
            return Arrays.stream(streams).allMatch(Objects::nonNull);
        }

        List<SecureConnection> present() {
            List<SecureConnection> present = new ArrayList<>();
            for (SecureConnection stream : streams) {
                if (stream != null) {
                    present.add(stream);
                }
            }
            return present;
        }
    }

    /// The answer to `hello`. Before [#setWorld] every world is accepted.
    synchronized LinkHelloStatus check(LinkHello hello) {
        if (hello.to() != rank) {
            return LinkHelloStatus.WRONG_RANK;
        }
        if (world.isPresent() && world.getAsLong() != hello.worldId()) {
            return LinkHelloStatus.WRONG_WORLD;
        }
        if (closed || closedChannels.contains(hello.channel())) {
            return LinkHelloStatus.CLOSED;
        }
        Long epoch = epochs.get(hello.channel());
        if (epoch == null) {
            boolean known = pending.containsKey(new Key(hello.channel(), hello.from()));
            return known || earlyCount() < MAX_EARLY
                    ? LinkHelloStatus.ACCEPTED
                    : LinkHelloStatus.TOO_MANY_PENDING;
        }
        return hello.epoch() < epoch ? LinkHelloStatus.STALE_EPOCH : LinkHelloStatus.ACCEPTED;
    }

    private long earlyCount() {
        return pending.keySet().stream().filter(key -> !epochs.containsKey(key.channel)).count();
    }

    /// Keeps a stream that the connecting rank has confirmed.
    ///
    /// @return false if it is no longer acceptable; the caller must close it
    synchronized boolean add(LinkHello hello, SecureConnection stream) {
        if (check(hello) != LinkHelloStatus.ACCEPTED) {
            return false;
        }
        Key key = new Key(hello.channel(), hello.from());
        PendingConnection pendingConnection = pending.get(key);
        if (pendingConnection == null || pendingConnection.attempt < hello.attempt()) {
            discard(pendingConnection);
            pendingConnection = new PendingConnection(hello);
            pending.put(key, pendingConnection);
        }
        if (pendingConnection.attempt != hello.attempt()
                || pendingConnection.streams.length != hello.streams()
                || pendingConnection.streams[hello.stream()] != null) {
            return false;
        }
        pendingConnection.streams[hello.stream()] = stream;
        return true;
    }

    /// The streams of the link that `peer` opened in `epoch`; null until all have arrived.
    synchronized @Nullable List<SecureConnection> take(int channel, int peer, long epoch) {
        Key key = new Key(channel, peer);
        PendingConnection pendingConnection = pending.get(key);
        if (pendingConnection == null
                || pendingConnection.epoch != epoch
                || !pendingConnection.isComplete()) {
            return null;
        }
        pending.remove(key);
        return pendingConnection.present();
    }

    /// Accepts only connections of this world from now on, and discards pending ones of other
    /// worlds.
    synchronized void setWorld(long world) {
        this.world = OptionalLong.of(world);
        pending.values()
                .removeIf(
                        pendingConnection ->
                                pendingConnection.world != world && discard(pendingConnection));
    }

    /// Opens a channel.
    ///
    /// @throws IllegalStateException if it was opened before, or after [#close()]
    synchronized void open(int channel) {
        if (closed) {
            throw new IllegalStateException(
                    "rank "
                            + rank
                            + " cannot open channel "
                            + channel
                            + ": it has closed its links");
        }
        if (closedChannels.contains(channel) || epochs.putIfAbsent(channel, 0L) != null) {
            throw new IllegalStateException(
                    "rank " + rank + " has opened channel " + channel + " before");
        }
    }

    /// Discards connections of `channel` from epochs before `epoch`.
    synchronized void advance(int channel, long epoch) {
        epochs.replace(channel, epoch); // does nothing if it was closed
        pending.entrySet()
                .removeIf(
                        entry ->
                                entry.getKey().channel == channel
                                        && entry.getValue().epoch < epoch
                                        && discard(entry.getValue()));
    }

    /// Discards all connections of `channel`, and rejects new ones.
    synchronized void close(int channel) {
        epochs.remove(channel);
        closedChannels.add(channel);
        pending.entrySet()
                .removeIf(entry -> entry.getKey().channel == channel && discard(entry.getValue()));
    }

    /// Discards all connections, and rejects new ones.
    synchronized void close() {
        closed = true;
        pending.values().forEach(PendingConnections::discard);
        pending.clear();
    }

    private static boolean discard(@Nullable PendingConnection pendingConnection) {
        if (pendingConnection != null) {
            pendingConnection.present().forEach(TcpLink::closeQuietly);
        }
        return true;
    }
}
