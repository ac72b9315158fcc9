package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.ScaledReduction;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.transport.LocalGroup;

/// Reducescatter: an allreduce of which each rank copies only its own windows out.
///
/// Inside a host that is as little work as possible, since owners reduce and everybody reads just
/// what it wants. Between hosts whole parts travel, about twice the bytes that would be needed.
final class CpuReducescatter {
    private final LocalGroup local;
    private final CpuAllreduce allreduce;

    CpuReducescatter(LocalGroup local, CpuAllreduce allreduce) {
        this.local = local;
        this.allreduce = allreduce;
    }

    void run(long stamp, ScaledReduction scaledReduction, FusedTensors fusedTensors) {
        local.barrier(stamp);
        allreduce.runStaged(stamp, scaledReduction, fusedTensors);
    }
}
