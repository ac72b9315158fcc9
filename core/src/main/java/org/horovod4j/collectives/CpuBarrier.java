package org.horovod4j.collectives;

import org.horovod4j.transport.LocalGroup;

/// Barrier: the ranks of a host meet, the hosts' leaders meet, the host hears of it.
final class CpuBarrier {
    private final LocalGroup local;
    private final CrossGroup cross;

    CpuBarrier(LocalGroup local, CrossGroup crossGroup) {
        this.local = local;
        this.cross = crossGroup;
    }

    void run(long stamp) {
        local.barrier(stamp);
        if (!cross.isSingleDomain()) {
            if (local.index() == 0) {
                cross.barrier();
            }
            local.barrier(stamp);
        }
    }
}
