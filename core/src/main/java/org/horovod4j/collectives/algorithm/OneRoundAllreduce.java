package org.horovod4j.collectives.algorithm;

import org.horovod4j.spi.Activity;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Every rank posts its tensors in a notice, reads the notices of all ranks and reduces them in
/// rank order.
///
/// | rounds | bytes read by each rank |
/// |--------|-------------------------|
/// | 1      | tensors of `n` ranks    |
///
/// Used for small tensors within a host. It needs only one barrier, because each rank computes the
/// whole result itself. All ranks add in the same order, so their results have the same bits.
public final class OneRoundAllreduce {
    /// The most bytes of one rank's tensors. For more, it is faster to divide the work among ranks.
    private static final long MAX_BYTES = 4 * 1024;

    /// The most bytes that a rank reads from all notices together.
    private static final long MAX_READ_BYTES = 64 * 1024;

    private final LocalGroup local;
    private final long maxBytes;
    private final MemorySegment scratch;
    private final ActivityRecorder activityRecorder;
    private final NoticeSlices[] slicesByPlace = new NoticeSlices[RegionLayout.NOTICE_PLACES];

    /// @param scratch private off-heap memory of this rank, as large as a notice
    public OneRoundAllreduce(
            LocalGroup local, MemorySegment scratch, ActivityRecorder activityRecorder) {
        this.local = local;
        this.maxBytes = Math.min(MAX_BYTES, MAX_READ_BYTES / local.size());
        this.activityRecorder = activityRecorder;
        this.scratch = scratch;
        Arrays.setAll(slicesByPlace, _ -> new NoticeSlices());
    }

    /// Whether tensors of this total size are small enough.
    public boolean supports(long byteSize) {
        return byteSize <= maxBytes;
    }

    /// The largest size that it supports.
    public long maxBytes() {
        return maxBytes;
    }

    public void run(long stamp, ScaledReduction reduction, FusedTensors fusedTensors) {
        long count = fusedTensors.elementCount();
        MemorySegment mine = local.region(local.index());
        long payload = local.nextPayloadOffset();
        NoticeSlices slices = slicesByPlace[local.nextNoticePlace()];
        slices.sliceFor(payload, fusedTensors.byteSize());
        long since = activityRecorder.begin();
        fusedTensors.pack(0, count, mine, payload);
        reduction.prescale(mine, payload, count);
        since = activityRecorder.end(Activity.MEMCPY_IN_FUSION_BUFFER, since);
        local.barrier(stamp);
        since = activityRecorder.end(Activity.WAIT_FOR_DATA, since);
        reduction.reduce(slices.result, slices.payloads);
        reduction.postscale(scratch, 0, count);
        since = activityRecorder.end(Activity.SHM_ALLREDUCE, since);
        fusedTensors.unpack(scratch, 0, 0, count);
        activityRecorder.end(Activity.MEMCPY_OUT_FUSION_BUFFER, since);
    }

    /// The payloads of all members in one place for notices, and the result in the scratch memory.
    ///
    /// They are kept for the next operation of the same size. With many ranks, new slices would be
    /// most of what an operation allocates.
    private final class NoticeSlices {
        private final MemorySegment[] payloads = new MemorySegment[local.size()];
        private MemorySegment result = MemorySegment.NULL;
        private long byteSize = -1;

        void sliceFor(long payloadOffset, long bytes) {
            if (bytes != byteSize) {
                for (int member = 0; member < payloads.length; member++) {
                    payloads[member] = local.region(member).asSlice(payloadOffset, bytes);
                }
                result = scratch.asSlice(0, bytes);
                byteSize = bytes;
            }
        }
    }
}
