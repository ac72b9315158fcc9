package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.MessageSink;

import java.lang.foreign.MemorySegment;

/// Binomial tree from member 0 to all.
///
/// | steps               | bytes sent                                         |
/// |---------------------|----------------------------------------------------|
/// | `log2 n`, rounded up | the tensor, to as many as `log2 n` others, mostly none |
///
/// Long tensors come piece by piece, so that the levels of the tree work at the same time.
public final class TreeBroadcast {
    private final LinkGroup linkGroup;

    public TreeBroadcast(LinkGroup linkGroup) {
        this.linkGroup = linkGroup;
    }

    public boolean isRoot() {
        return linkGroup.index() == 0;
    }

    /// Fills `memory` from the member before this one, if any, and passes it on.
    public void run(MemorySegment memory, long offset, long length) {
        int index = linkGroup.index();
        int distance = 1;
        while (distance < linkGroup.size() && (index & distance) == 0) {
            distance *= 2;
        }
        if (!isRoot()) {
            linkGroup.receive(index - distance, MessageSink.into(memory, offset, length));
        }
        for (distance /= 2; distance >= 1; distance /= 2) {
            if (index + distance < linkGroup.size()) {
                linkGroup.send(index + distance, memory, offset, length);
            }
        }
    }
}
