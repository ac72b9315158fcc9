package org.horovod4j.collectives.algorithm;

import org.horovod4j.spi.Activity;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.transport.LocalGroup;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Everybody posts its tensors in a notice, everybody reads all and reduces in rank order.
///
/// | rounds | bytes read by each rank |
/// |--------|-------------------------|
/// | 1      | `n` tensors             |
///
/// The choice for small tensors of ranks on one host: a single meeting, no second one to pass
/// results on. All ranks compute the same sum in the same order, so their bits agree.
public final class OneRoundAllreduce {
    /// Beyond this much per tensor, or for all that a rank reads, sharing the work out pays.
    private static final long MAX_BYTES = 4 * 1024;

    private static final long MAX_READ = 64 * 1024;

    private final LocalGroup local;
    private final MemorySegment scratch;
    private final ActivityRecorder activityRecorder;
    private final MemorySegment[] sources;
    private final long[] offsets;

    /// @param scratch memory outside the heap of this rank's own, as large as a notice
    public OneRoundAllreduce(
            LocalGroup local, MemorySegment scratch, ActivityRecorder activityRecorder) {
        this.local = local;
        this.activityRecorder = activityRecorder;
        this.scratch = scratch;
        this.sources = new MemorySegment[local.size()];
        this.offsets = new long[local.size()];
        for (int member = 0; member < local.size(); member++) {
            sources[member] = local.region(member);
        }
    }

    public boolean supports(long byteSize) {
        return byteSize <= MAX_BYTES && byteSize * local.size() <= MAX_READ;
    }

    public void run(long stamp, ScaledReduction scaledReduction, FusedTensors fusedTensors) {
        long count = fusedTensors.elementCount();
        MemorySegment mine = local.region(local.index());
        long payload = local.nextPayloadOffset();
        long since = activityRecorder.begin();
        fusedTensors.pack(0, count, mine, payload);
        scaledReduction.prepare(mine, payload, count);
        since = activityRecorder.end(Activity.MEMCPY_IN_FUSION_BUFFER, since);
        local.barrier(stamp);
        since = activityRecorder.end(Activity.WAIT_FOR_DATA, since);
        Arrays.fill(offsets, payload);
        scaledReduction.fold(scratch, 0, sources, offsets, count);
        scaledReduction.finish(scratch, 0, count);
        since = activityRecorder.end(Activity.SHM_ALLREDUCE, since);
        fusedTensors.unpack(scratch, 0, 0, count);
        activityRecorder.end(Activity.MEMCPY_OUT_FUSION_BUFFER, since);
    }
}
