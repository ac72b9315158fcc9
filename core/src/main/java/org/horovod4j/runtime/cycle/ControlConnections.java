package org.horovod4j.runtime.cycle;

import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;
import org.jspecify.annotations.Nullable;

/// The control lines of a process set: every rank has one to rank 0, which has one to each.
///
/// A line is made when it is first used. Rank 0 then waits for the other's call, and may: nothing
/// can happen without that rank anyway. A line that breaks is passed over, because what others have
/// said is to be heard first; [#brokenLink] tells of it.
final class ControlConnections {
    private final Links links;
    private final int rank;
    private final @Nullable ControlLine[] connections;
    private @Nullable LinkBrokenException brokenLink;
    private int turn;

    ControlConnections(Links links, int rank, int size) {
        this.links = links;
        this.rank = rank;
        this.connections = new ControlLine[rank == 0 ? size : 1];
    }

    /// Why a line broke, the first that did; null as long as all hold.
    @Nullable LinkBrokenException brokenLink() {
        return brokenLink;
    }

    /// Tells rank 0 something; sent in part at once, the rest with later calls of [#poll].
    void sendToCoordinator(byte[] message) {
        ControlLine line = connection(0);
        line.write(message);
        boolean _ = flush(line);
    }

    /// Tells all other ranks something with the next calls of [#flush].
    void sendToAll(byte[] message) {
        for (int other = 1; other < connections.length; other++) {
            connection(other).write(message);
        }
    }

    /// Sends what the lines take.
    ///
    /// @return whether nothing is left
    boolean flush() {
        boolean all = true;
        for (ControlLine line : connections) {
            if (line != null) {
                all &= flush(line);
            }
        }
        return all;
    }

    /// The next message from any rank, or null when there is none now.
    @Nullable ReceivedMessage poll() {
        boolean _ = flush();
        if (rank > 0) {
            byte[] message = poll(connection(0));
            return message == null ? null : new ReceivedMessage(0, message);
        }
        for (int i = 1; i < connections.length; i++) {
            turn = turn + 1 >= connections.length ? 1 : turn + 1;
            byte[] message = poll(connection(turn));
            if (message != null) {
                return new ReceivedMessage(turn, message);
            }
        }
        return null;
    }

    /// A message and who sent it.
    @SuppressWarnings("ArrayRecordComponent") // decoded, never compared
    record ReceivedMessage(int rank, byte[] message) {}

    private boolean flush(ControlLine line) {
        try {
            return line.flush();
        } catch (LinkBrokenException e) {
            line.silence();
            noteBroken(e);
            return true;
        }
    }

    private byte @Nullable [] poll(ControlLine line) {
        try {
            return line.isClosed() ? null : line.poll();
        } catch (LinkBrokenException e) {
            line.close();
            noteBroken(e);
            return null;
        }
    }

    private void noteBroken(LinkBrokenException reason) {
        if (brokenLink == null) {
            brokenLink = reason;
        }
    }

    private ControlLine connection(int other) {
        ControlLine line = connections[other];
        if (line == null) {
            line = new ControlLine(links.link(other));
            connections[other] = line;
        }
        return line;
    }
}
