package org.horovod4j.collectives;

import org.horovod4j.Tensor;
import org.horovod4j.collectives.algorithm.Parts;
import org.horovod4j.collectives.algorithm.Reduction;
import org.horovod4j.collectives.algorithm.StagedAllreduce.Window;
import org.horovod4j.transport.Neighbourhood;

import java.lang.foreign.MemorySegment;

/// Reducescatter: an allreduce of which each rank copies only its own rows out.
///
/// Inside a host that is as little work as possible, since owners reduce and everybody reads just
/// what it wants. Between hosts whole parts travel, about twice the bytes that would be needed.
final class CpuReducescatter {
    private final Neighbourhood near;
    private final Across across;
    private final CpuAllreduce allreduce;

    CpuReducescatter(Neighbourhood near, Across across, CpuAllreduce allreduce) {
        this.near = near;
        this.across = across;
        this.allreduce = allreduce;
    }

    Tensor run(long stamp, Reduction reduction, Tensor tensor) {
        long rows = tensor.shape().dimension(0);
        long rowElements = tensor.shape().rowElements();
        long first = Parts.rowStart(rows, across.rank(), across.worldSize());
        long end = Parts.rowStart(rows, across.rank() + 1, across.worldSize());
        Tensor output = Tensor.zeros(tensor.dataType(), tensor.shape().withRows(end - first));
        MemorySegment input = tensor.segment();
        near.meet(stamp);
        allreduce.stage(
                stamp,
                reduction,
                input,
                tensor.elementCount(),
                output.segment(),
                new Window(first * rowElements, end * rowElements));
        return output;
    }
}
