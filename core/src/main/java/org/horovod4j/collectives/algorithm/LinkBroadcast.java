package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.MessageSink;

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

    /// Receives a piece, unless this is the root, and forwards it.
    public void run(MemorySegment memory, long offset, long length) {
        if (chain) {
            runChain(memory, offset, length);
        } else {
            runTree(memory, offset, length);
        }
    }

    private void runChain(MemorySegment memory, long offset, long length) {
        int index = group.index();
        if (!isRoot()) {
            group.receive(index - 1, MessageSink.into(memory, offset, length));
        }
        if (index + 1 < group.size()) {
            group.send(index + 1, memory, offset, length);
        }
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
