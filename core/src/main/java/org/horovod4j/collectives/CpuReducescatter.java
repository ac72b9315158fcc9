package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.Reduction;
import org.horovod4j.spi.Bundle;
import org.horovod4j.transport.Neighbourhood;

/// Reducescatter: an allreduce of which each rank copies only its own windows out.
///
/// Inside a host that is as little work as possible, since owners reduce and everybody reads just
/// what it wants. Between hosts whole parts travel, about twice the bytes that would be needed.
final class CpuReducescatter {
    private final Neighbourhood near;
    private final CpuAllreduce allreduce;

    CpuReducescatter(Neighbourhood near, CpuAllreduce allreduce) {
        this.near = near;
        this.allreduce = allreduce;
    }

    void run(long stamp, Reduction reduction, Bundle bundle) {
        near.meet(stamp);
        allreduce.stage(stamp, reduction, bundle);
    }
}
