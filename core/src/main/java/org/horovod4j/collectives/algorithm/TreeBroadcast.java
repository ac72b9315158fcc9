package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.MessageSink;

import java.lang.foreign.MemorySegment;

/// Binomial tree from member 0 to all members.
///
/// | steps               | bytes sent                                         |
/// |---------------------|----------------------------------------------------|
/// | `log2 n`, rounded up | the tensor, to at most `log2 n` members, usually none |
///
/// Large tensors are sent piece by piece, so that all levels of the tree work at the same time.
public final class TreeBroadcast {
    private final LinkGroup group;

    public TreeBroadcast(LinkGroup group) {
        this.group = group;
    }

    public boolean isRoot() {
        return group.index() == 0;
    }

    /// Receives `memory` from the parent, if any, and forwards it.
    public void run(MemorySegment memory, long offset, long length) {
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
