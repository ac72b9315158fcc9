package org.horovod4j.runtime.cycle;

import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;
import org.jspecify.annotations.Nullable;

/// The control lines of a process set: every rank has one to rank 0, which has one to each.
///
/// A line is made when it is first used. Rank 0 then waits for the other's call, and may: nothing
/// can happen without that rank anyway. A line that breaks is passed over, because what others have
/// said is to be heard first; [#broken] tells of it.
final class Star {
    private final Links links;
    private final int rank;
    private final @Nullable ControlLine[] lines;
    private @Nullable LinkBrokenException broken;
    private int turn;

    Star(Links links, int rank, int size) {
        this.links = links;
        this.rank = rank;
        this.lines = new ControlLine[rank == 0 ? size : 1];
    }

    /// Why a line broke, the first that did; null as long as all hold.
    @Nullable LinkBrokenException broken() {
        return broken;
    }

    /// Tells rank 0 something; sent in part at once, the rest with later calls of [#poll].
    void tell(byte[] message) {
        ControlLine line = line(0);
        line.write(message);
        boolean _ = flush(line);
    }

    /// Tells all other ranks something with the next calls of [#flush].
    void tellAll(byte[] message) {
        for (int other = 1; other < lines.length; other++) {
            line(other).write(message);
        }
    }

    /// Sends what the lines take.
    ///
    /// @return whether nothing is left
    boolean flush() {
        boolean all = true;
        for (ControlLine line : lines) {
            if (line != null) {
                all &= flush(line);
            }
        }
        return all;
    }

    /// The next message from any rank, or null when there is none now.
    @Nullable Heard poll() {
        boolean _ = flush();
        if (rank > 0) {
            byte[] message = poll(line(0));
            return message == null ? null : new Heard(0, message);
        }
        for (int i = 1; i < lines.length; i++) {
            turn = turn + 1 >= lines.length ? 1 : turn + 1;
            byte[] message = poll(line(turn));
            if (message != null) {
                return new Heard(turn, message);
            }
        }
        return null;
    }

    /// A message and who sent it.
    @SuppressWarnings("ArrayRecordComponent") // decoded, never compared
    record Heard(int rank, byte[] message) {}

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
        if (broken == null) {
            broken = reason;
        }
    }

    private ControlLine line(int other) {
        ControlLine line = lines[other];
        if (line == null) {
            line = new ControlLine(links.link(other));
            lines[other] = line;
        }
        return line;
    }
}
