package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.IncomingMessage;
import org.horovod4j.transport.MessageSink;
import org.horovod4j.transport.PointToPoint;

import java.lang.foreign.MemorySegment;

/// Broadcast over links, from member 0 to all members, piece by piece.
///
/// | shape | messages until the last member has a piece | copies that a member sends at most |
/// |-------|--------------------------------------------|------------------------------------|
/// | tree  | `log2 n`, rounded up                       | `log2 n`, rounded up               |
/// | chain | `n - 1`                                    | one                                |
///
/// A tree is faster for a few pieces. With many pieces all members of a chain send at the same time,
/// and none sends more than the tensor.
public final class LinkBroadcast {
    private final LinkGroup group;
    private final boolean chain;

    /// @param pieces how often all members will call [#run]
    public LinkBroadcast(LinkGroup group, long pieces) {
        this.group = group;
        this.chain = isChainFaster(group.size(), pieces);
    }

    /// Compares how many pieces one link sends, one after the other, until the last member has all.
    static boolean isChainFaster(int size, long pieces) {
        int levels = Integer.SIZE - Integer.numberOfLeadingZeros(size - 1);
        return pieces + size - 2 < pieces * levels;
    }

    public boolean isRoot() {
        return group.index() == 0;
    }

    /// Receives a piece, unless this is the root, and starts to forward it. When this returns, the
    /// memory has the piece, and earlier pieces were forwarded.
    public void run(MemorySegment memory, long offset, long length) {
        if (chain) {
            runChain(memory, offset, length);
        } else {
            runTree(memory, offset, length);
        }
    }

    private void runChain(MemorySegment memory, long offset, long length) {
        int index = group.index();
        PointToPoint pointToPoint = group.pointToPoint();
        IncomingMessage received = null;
        if (!isRoot()) {
            group.open(index - 1, index - 1);
            received = group.startReceive(index - 1, MessageSink.into(memory, offset, length));
        }
        long needed = pointToPoint.started();
        if (index + 1 < group.size()) {
            group.open(index + 1, index + 1);
            group.startForward(index + 1, memory, offset, length, received);
        }
        pointToPoint.await(needed);
    }

    /// Returns when all pieces were forwarded.
    public void finish() {
        group.pointToPoint().awaitAll();
    }

    /// A binomial tree.
    private void runTree(MemorySegment memory, long offset, long length) {
        int index = group.index();
        int distance = 1;
        while (distance < group.size() && (index & distance) == 0) {
            distance *= 2;
        }
        if (!isRoot()) {
            group.receive(index - distance, MessageSink.into(memory, offset, length));
        }
        for (distance /= 2; distance >= 1; distance /= 2) {
            if (index + distance < group.size()) {
                group.send(index + distance, memory, offset, length);
            }
        }
    }
}
