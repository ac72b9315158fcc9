package org.horovod4j.collectives.algorithm;

import org.horovod4j.spi.Activities;
import org.horovod4j.spi.Activity;
import org.horovod4j.spi.Bundle;
import org.horovod4j.transport.Neighbourhood;

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

    private final Neighbourhood near;
    private final MemorySegment scratch;
    private final Activities activities;
    private final MemorySegment[] sources;
    private final long[] offsets;

    /// @param scratch memory outside the heap of this rank's own, as large as a notice
    public OneRoundAllreduce(Neighbourhood near, MemorySegment scratch, Activities activities) {
        this.near = near;
        this.activities = activities;
        this.scratch = scratch;
        this.sources = new MemorySegment[near.size()];
        this.offsets = new long[near.size()];
        for (int member = 0; member < near.size(); member++) {
            sources[member] = near.region(member);
        }
    }

    public boolean suits(long byteSize) {
        return byteSize <= MAX_BYTES && byteSize * near.size() <= MAX_READ;
    }

    public void run(long stamp, Reduction reduction, Bundle bundle) {
        long count = bundle.elementCount();
        MemorySegment mine = near.region(near.index());
        long payload = near.nextPayload();
        long since = activities.begin();
        bundle.pack(0, count, mine, payload);
        reduction.prepare(mine, payload, count);
        since = activities.end(Activity.MEMCPY_IN_FUSION_BUFFER, since);
        near.meet(stamp);
        since = activities.end(Activity.WAIT_FOR_DATA, since);
        Arrays.fill(offsets, payload);
        reduction.fold(scratch, 0, sources, offsets, count);
        reduction.finish(scratch, 0, count);
        since = activities.end(Activity.SHM_ALLREDUCE, since);
        bundle.unpack(scratch, 0, 0, count);
        activities.end(Activity.MEMCPY_OUT_FUSION_BUFFER, since);
    }
}
