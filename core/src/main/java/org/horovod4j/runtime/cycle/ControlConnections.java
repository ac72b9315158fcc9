package org.horovod4j.runtime.cycle;

import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;
import org.jspecify.annotations.Nullable;

/// The control connections of a process set: rank 0 has one to each other rank.
///
/// A connection opens when it is first used. Rank 0 may wait for the other rank to connect, because
/// nothing can run without that rank. A broken connection is skipped, so that messages from other
/// ranks are read first; see [#brokenLink].
final class ControlConnections {
    private final Links links;
    private final int rank;
    private final @Nullable ControlConnection[] connections;
    private @Nullable LinkBrokenException brokenLink;
    private int nextRank;

    ControlConnections(Links links, int rank, int size) {
        this.links = links;
        this.rank = rank;
        this.connections = new ControlConnection[rank == 0 ? size : 1];
    }

    /// Why the first broken connection broke; null while all are intact.
    @Nullable LinkBrokenException brokenLink() {
        return brokenLink;
    }

    /// Sends a message to rank 0: as much as possible now, the rest in later calls of [#poll].
    void sendToCoordinator(byte[] message) {
        ControlConnection connection = connection(0);
        connection.write(message);
        boolean _ = flush(connection);
    }

    /// Queues a message for all other ranks; [#flush] sends it.
    void sendToAll(byte[] message) {
        for (int other = 1; other < connections.length; other++) {
            connection(other).write(message);
        }
    }

    /// Sends as many bytes as the connections accept.
    ///
    /// @return whether all bytes are sent
    boolean flush() {
        boolean allSent = true;
        for (ControlConnection connection : connections) {
            if (connection != null) {
                allSent &= flush(connection);
            }
        }
        return allSent;
    }

    /// The next message from any rank, or null when there is none now.
    @Nullable ReceivedMessage poll() {
        boolean _ = flush();
        if (rank > 0) {
            byte[] message = poll(connection(0));
            return message == null ? null : new ReceivedMessage(0, message);
        }
        for (int i = 1; i < connections.length; i++) {
            nextRank = nextRank + 1 >= connections.length ? 1 : nextRank + 1;
            byte[] message = poll(connection(nextRank));
            if (message != null) {
                return new ReceivedMessage(nextRank, message);
            }
        }
        return null;
    }

    /// A message and the rank that sent it.
    @SuppressWarnings("ArrayRecordComponent") // decoded, never compared
    record ReceivedMessage(int rank, byte[] message) {}

    private boolean flush(ControlConnection connection) {
        try {
            return connection.flush();
        } catch (LinkBrokenException e) {
            connection.silence();
            noteBroken(e);
            return true;
        }
    }

    private byte @Nullable [] poll(ControlConnection connection) {
        try {
            return connection.isClosed() ? null : connection.poll();
        } catch (LinkBrokenException e) {
            connection.close();
            noteBroken(e);
            return null;
        }
    }

    private void noteBroken(LinkBrokenException reason) {
        if (brokenLink == null) {
            brokenLink = reason;
        }
    }

    private ControlConnection connection(int other) {
        ControlConnection connection = connections[other];
        if (connection == null) {
            connection = new ControlConnection(links.link(other));
            connections[other] = connection;
        }
        return connection;
    }
}
