package org.horovod4j.collectives;

import org.horovod4j.transport.Neighbourhood;

/// Barrier: the ranks of a host meet, the hosts' leaders meet, the host hears of it.
final class CpuBarrier {
    private final Neighbourhood near;
    private final Across across;

    CpuBarrier(Neighbourhood near, Across across) {
        this.near = near;
        this.across = across;
    }

    void run(long stamp) {
        near.meet(stamp);
        if (!across.isEmpty()) {
            if (near.index() == 0) {
                across.agree();
            }
            near.meet(stamp);
        }
    }
}
