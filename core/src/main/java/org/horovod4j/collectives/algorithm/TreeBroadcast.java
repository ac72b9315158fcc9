package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.Sink;

import java.lang.foreign.MemorySegment;

/// Binomial tree from member 0 to all.
///
/// | steps               | bytes sent                                         |
/// |---------------------|----------------------------------------------------|
/// | `log2 n`, rounded up | the tensor, to as many as `log2 n` others, mostly none |
///
/// Long tensors come piece by piece, so that the levels of the tree work at the same time.
public final class TreeBroadcast {
    private final Group group;

    public TreeBroadcast(Group group) {
        this.group = group;
    }

    public boolean isRoot() {
        return group.index() == 0;
    }

    /// Fills `memory` from the member before this one, if any, and passes it on.
    public void run(MemorySegment memory, long offset, long length) {
        int index = group.index();
        int distance = 1;
        while (distance < group.size() && (index & distance) == 0) {
            distance *= 2;
        }
        if (!isRoot()) {
            group.receive(index - distance, Sink.into(memory, offset, length));
        }
        for (distance /= 2; distance >= 1; distance /= 2) {
            if (index + distance < group.size()) {
                group.send(index + distance, memory, offset, length);
            }
        }
    }
}
