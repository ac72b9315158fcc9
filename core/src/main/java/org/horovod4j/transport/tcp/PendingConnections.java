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

/// The calls of higher ranks that were answered but not yet asked for.
///
/// Ranks do not open channels, reset, or even learn of each other, at the same moment. So a call
/// from ahead is kept until this rank has caught up, while one from behind is turned away. A caller
/// that calls anew has given up the call before, so that one of each caller is kept per channel.
final class PendingConnections {
    /// How many calls may wait for channels that this rank has not opened: far more than ranks that
    /// are a little ahead ever make, and few enough to store.
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

    /// The streams of one link, as they come in.
    private static final class PendingConnection {
        private final long world;
        private final long epoch;
        private final long attempt;
        private final @Nullable SecureConnection[] streams;

        PendingConnection(LinkHello linkHello) {
            this.world = linkHello.worldId();
            this.epoch = linkHello.epoch();
            this.attempt = linkHello.attempt();
            this.streams = new @Nullable SecureConnection[linkHello.streams()];
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

    /// What to answer; of the world nobody can judge who has not met it.
    synchronized LinkHelloStatus check(LinkHello linkHello) {
        if (linkHello.to() != rank) {
            return LinkHelloStatus.WRONG_RANK;
        }
        if (closed || (world.isPresent() && world.getAsLong() != linkHello.worldId())) {
            return LinkHelloStatus.WRONG_WORLD;
        }
        if (closedChannels.contains(linkHello.channel())) {
            return LinkHelloStatus.CLOSED;
        }
        Long epoch = epochs.get(linkHello.channel());
        if (epoch == null) {
            boolean known = pending.containsKey(new Key(linkHello.channel(), linkHello.from()));
            return known || earlyCount() < MAX_EARLY
                    ? LinkHelloStatus.ACCEPTED
                    : LinkHelloStatus.TOO_MANY_PENDING;
        }
        return linkHello.epoch() < epoch ? LinkHelloStatus.STALE_EPOCH : LinkHelloStatus.ACCEPTED;
    }

    private long earlyCount() {
        return pending.keySet().stream().filter(key -> !epochs.containsKey(key.channel)).count();
    }

    /// Keeps a stream whose caller took the welcome.
    ///
    /// @return false when it is no longer welcome, and the caller of this method should close it
    synchronized boolean add(LinkHello linkHello, SecureConnection stream) {
        if (check(linkHello) != LinkHelloStatus.ACCEPTED) {
            return false;
        }
        Key key = new Key(linkHello.channel(), linkHello.from());
        PendingConnection pendingConnection = pending.get(key);
        if (pendingConnection == null || pendingConnection.attempt < linkHello.attempt()) {
            discard(pendingConnection);
            pendingConnection = new PendingConnection(linkHello);
            pending.put(key, pendingConnection);
        }
        if (pendingConnection.attempt != linkHello.attempt()
                || pendingConnection.streams.length != linkHello.streams()
                || pendingConnection.streams[linkHello.stream()] != null) {
            return false;
        }
        pendingConnection.streams[linkHello.stream()] = stream;
        return true;
    }

    /// The streams of the link that `peer` opened in `epoch`; null while not all are there.
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

    /// From now on only calls of this world are welcome; those of others that came early are
    /// dropped.
    synchronized void setWorld(long world) {
        this.world = OptionalLong.of(world);
        pending.values()
                .removeIf(
                        pendingConnection ->
                                pendingConnection.world != world && discard(pendingConnection));
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
        pending.entrySet()
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
        pending.entrySet()
                .removeIf(entry -> entry.getKey().channel == channel && discard(entry.getValue()));
    }

    /// Drops everything, now and from now on.
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
