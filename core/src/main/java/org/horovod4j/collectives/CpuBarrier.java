package org.horovod4j.collectives;

import org.horovod4j.transport.LocalGroup;

/// Barrier: first the ranks of each host, then the first ranks of all hosts, then again the ranks
/// of each host.
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
