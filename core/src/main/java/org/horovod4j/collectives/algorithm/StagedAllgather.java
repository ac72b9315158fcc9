package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;
import org.horovod4j.transport.RegionLayout.Counter;

import java.lang.foreign.MemorySegment;

/// Allgather within a host: each rank packs its piece, and all ranks copy all pieces out.
///
/// | rounds                    | bytes copied by each rank     |
/// |---------------------------|-------------------------------|
/// | longest piece / 512 KiB   | its own in, all pieces out    |
public final class StagedAllgather {
    private final LocalGroup local;
    private final StagedPipeline pipeline;

    public StagedAllgather(LocalGroup local) {
        this.local = local;
        this.pipeline = new StagedPipeline(local);
    }

    /// Passes `sizes[member]` bytes of each member to `target`. The bytes of this rank come from
    /// `source`.
    public void run(Source source, long[] sizes, Target target) {
        long longest = 0;
        for (long size : sizes) {
            longest = Math.max(longest, size);
        }
        pipeline.run(
                (longest + RegionLayout.STAGE_BYTES - 1) / RegionLayout.STAGE_BYTES,
                new StagedPipeline.Phases() {
                    @Override
                    public void pack(long round, long stage) {
                        long bytes = StagedPipeline.bytesInRound(sizes[local.index()], round);
                        if (bytes > 0) {
                            source.pack(
                                    round * RegionLayout.STAGE_BYTES,
                                    bytes,
                                    local.region(local.index()),
                                    stage);
                        }
                    }

                    @Override
                    public void unpack(long round, long stage, long packed) {
                        for (int step = 0; step < sizes.length; step++) {
                            int member = local.memberAt(step, sizes.length);
                            long bytes = StagedPipeline.bytesInRound(sizes[member], round);
                            if (bytes > 0) {
                                local.await(member, Counter.PACKED, packed);
                                target.unpack(
                                        member,
                                        local.region(member),
                                        stage,
                                        round * RegionLayout.STAGE_BYTES,
                                        bytes);
                            }
                        }
                    }
                });
    }

    /// The source of this rank's bytes.
    @FunctionalInterface
    public interface Source {
        /// Copies `count` bytes from `first` on to `stage` at `offset`.
        void pack(long first, long count, MemorySegment stage, long offset);
    }

    /// The target of the bytes of all ranks.
    @FunctionalInterface
    public interface Target {
        /// Takes `count` bytes of `stage` from `offset` on. They are the bytes of `member` from
        /// `first` on.
        void unpack(int member, MemorySegment stage, long offset, long first, long count);
    }
}
