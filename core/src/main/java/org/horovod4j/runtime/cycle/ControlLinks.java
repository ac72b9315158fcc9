package org.horovod4j.runtime.cycle;

import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.LinkParker;
import org.jspecify.annotations.Nullable;

import java.util.function.IntFunction;

/// The links for control messages of a process set: rank 0 has one to each other rank.
///
/// A link opens when it is first used. Rank 0 may wait for the other rank to connect, because
/// nothing can run without that rank. A broken link is skipped, so that messages from other
/// ranks are read first; see [#brokenLink].
final class ControlLinks {
    private final IntFunction<Link> links;
    private final int rank;
    private final @Nullable ControlLink[] controlLinks;
    private @Nullable LinkBrokenException brokenLink;
    private int nextRank;

    /// @param links opens the link to a rank of the set
    ControlLinks(IntFunction<Link> links, int rank, int size) {
        this.links = links;
        this.rank = rank;
        this.controlLinks = new ControlLink[rank == 0 ? size : 1];
    }

    /// Why the first broken link broke; null while all are intact.
    @Nullable LinkBrokenException brokenLink() {
        return brokenLink;
    }

    /// Sends a message to rank 0: as much as possible now, the rest in later calls of [#poll].
    void sendToCoordinator(byte[] message) {
        ControlLink controlLink = controlLink(0);
        controlLink.write(message);
        boolean _ = flush(controlLink);
    }

    /// Queues a message for all other ranks; [#flush] sends it.
    void sendToAll(byte[] message) {
        for (int other = 1; other < controlLinks.length; other++) {
            controlLink(other).write(message);
        }
    }

    /// Sends as many bytes as the links accept.
    ///
    /// @return whether all bytes are sent
    boolean flush() {
        boolean allSent = true;
        for (ControlLink controlLink : controlLinks) {
            if (controlLink != null) {
                allSent &= flush(controlLink);
            }
        }
        return allSent;
    }

    /// The next message from any rank, or null when there is none now.
    @Nullable ReceivedMessage poll() {
        boolean _ = flush();
        if (rank > 0) {
            byte[] message = poll(controlLink(0));
            return message == null ? null : new ReceivedMessage(0, message);
        }
        for (int i = 1; i < controlLinks.length; i++) {
            nextRank = nextRank + 1 >= controlLinks.length ? 1 : nextRank + 1;
            byte[] message = poll(controlLink(nextRank));
            if (message != null) {
                return new ReceivedMessage(nextRank, message);
            }
        }
        return null;
    }

    /// Messages of other ranks end a sleep, and so does room for bytes that are not sent yet.
    ///
    /// @param forRoom whether only room ends it
    void registerWith(LinkParker parker, boolean forRoom) {
        for (ControlLink controlLink : controlLinks) {
            if (controlLink != null && forRoom) {
                controlLink.wakeOnWritable(parker);
            } else if (controlLink != null) {
                controlLink.registerWith(parker);
            }
        }
    }

    /// A message and the rank that sent it.
    @SuppressWarnings("ArrayRecordComponent") // decoded, never compared
    record ReceivedMessage(int rank, byte[] message) {}

    private boolean flush(ControlLink controlLink) {
        try {
            return controlLink.flush();
        } catch (LinkBrokenException e) {
            controlLink.silence();
            noteBroken(e);
            return true;
        }
    }

    private byte @Nullable [] poll(ControlLink controlLink) {
        try {
            return controlLink.isClosed() ? null : controlLink.poll();
        } catch (LinkBrokenException e) {
            controlLink.close();
            noteBroken(e);
            return null;
        }
    }

    private void noteBroken(LinkBrokenException reason) {
        if (brokenLink == null) {
            brokenLink = reason;
        }
    }

    private ControlLink controlLink(int other) {
        ControlLink controlLink = controlLinks[other];
        if (controlLink == null) {
            controlLink = new ControlLink(links.apply(other));
            controlLinks[other] = controlLink;
        }
        return controlLink;
    }
}
