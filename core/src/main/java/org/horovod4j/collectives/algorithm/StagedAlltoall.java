package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;
import org.horovod4j.transport.RegionLayout.Counter;

import java.lang.foreign.MemorySegment;

/// Alltoall within a host: a stage has one slot per receiver.
///
/// | rounds                            | bytes copied by each rank    |
/// |-----------------------------------|------------------------------|
/// | longest piece / (512 KiB / `n`)   | all it sends, all it receives |
public final class StagedAlltoall {
    private final LocalGroup local;
    private final StagedPipeline pipeline;
    private final long slotBytes;

    public StagedAlltoall(LocalGroup local) {
        this.local = local;
        this.pipeline = new StagedPipeline(local);
        this.slotBytes = RegionLayout.STAGE_BYTES / local.size();
    }

    /// Sends one piece to each member and receives one from each.
    ///
    /// @param longest the longest piece between any two members
    public void run(
            Pieces out, MemorySegment input, Pieces in, MemorySegment output, long longest) {
        pipeline.run(
                (longest + slotBytes - 1) / slotBytes,
                new StagedPipeline.Phases() {
                    @Override
                    public void pack(long round, long stage) {
                        for (int member = 0; member < local.size(); member++) {
                            MemorySegment.copy(
                                    input,
                                    out.start(member) + out.before(member, round, slotBytes),
                                    local.region(local.index()),
                                    stage + member * slotBytes,
                                    out.length(member, round, slotBytes));
                        }
                    }

                    @Override
                    public void unpack(long round, long stage, long packed) {
                        for (int step = 0; step < local.size(); step++) {
                            int member = local.memberAt(step, local.size());
                            long bytes = in.length(member, round, slotBytes);
                            if (bytes > 0) {
                                local.await(member, Counter.PACKED, packed);
                                MemorySegment.copy(
                                        local.region(member),
                                        stage + local.index() * slotBytes,
                                        output,
                                        in.start(member) + round * slotBytes,
                                        bytes);
                            }
                        }
                    }
                });
    }

    /// The start and size of each peer's piece in a buffer.
    public static final class Pieces {
        private final long[] starts;
        private final long[] sizes;

        public Pieces(long[] starts, long[] sizes) {
            this.starts = starts.clone();
            this.sizes = sizes.clone();
        }

        public long start(int peer) {
            return starts[peer];
        }

        public long size(int peer) {
            return sizes[peer];
        }

        private long before(int member, long round, long slot) {
            return Math.min(round * slot, sizes[member]);
        }

        private long length(int member, long round, long slot) {
            return Math.clamp(sizes[member] - round * slot, 0, slot);
        }
    }
}
